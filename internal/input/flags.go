package input

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// A CommandLine is the parsed command line of the trigger.
type CommandLine struct {
	Help    bool
	Version bool

	inputDir string
	flags    *pflag.FlagSet
	problems []string
}

// ParseCommandLine parses the arguments behind the program's name. What is wrong with them comes back
// from Load, together with every other problem.
func ParseCommandLine(args []string) CommandLine {
	var problems []string
	for {
		c := CommandLine{flags: pflag.NewFlagSet("trigger", pflag.ContinueOnError)}
		c.flags.SortFlags = false
		c.flags.SetOutput(io.Discard)
		c.flags.Usage = func() {}
		c.flags.StringVar(&c.inputDir, "input-dir", "/input", "the `directory` where the ConfigMap is mounted; it holds input.json, which is sent\n"+
			"byte for byte as the workflow's input")
		for _, s := range settings {
			c.flags.String(s.name, s.fallback, s.usage)
		}
		c.flags.BoolVar(&c.Version, "version", false, "print the version")
		c.flags.BoolVarP(&c.Help, "help", "h", false, "print this help")

		// pflag stops at the first mistake. To find the rest, parse again without it.
		err := c.flags.Parse(args)
		if err != nil {
			problems = append(problems, err.Error())
			if i := offender(args, err); i >= 0 {
				args = slices.Delete(slices.Clone(args), i, i+1)
				continue
			}
		}
		for _, arg := range c.flags.Args() {
			problems = append(problems, fmt.Sprintf("unexpected argument %s: everything is a flag or a file", quote(arg)))
		}
		if c.inputDir == "" {
			problems = append(problems, "--input-dir: can't be empty")
		} else if err := checkValue(c.inputDir); err != nil {
			problems = append(problems, "--input-dir: "+err.Error())
		}
		c.problems = problems
		return c
	}
}

// offender returns the index of the argument that err speaks of, or -1.
func offender(args []string, err error) int {
	var unknown *pflag.NotExistError
	var syntax *pflag.InvalidSyntaxError
	var noValue *pflag.ValueRequiredError
	var badValue *pflag.InvalidValueError
	var flag string
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		flag = "-" + unknown.GetSpecifiedShortnames()
	case errors.As(err, &unknown):
		flag = "--" + unknown.GetSpecifiedName()
	case errors.As(err, &syntax):
		flag = syntax.GetSpecifiedFlag()
	case errors.As(err, &badValue):
		flag = "--" + badValue.GetFlag().Name
	case errors.As(err, &noValue):
		return len(args) - 1
	}
	return slices.IndexFunc(args, func(arg string) bool {
		return arg == flag || strings.HasPrefix(arg, flag+"=")
	})
}

// Usage returns the help text: every flag with its default and its reason.
func (c CommandLine) Usage() string {
	return `Starts one Dapr workflow, once: asks the sidecar whether the instance exists and sends one start only
if the sidecar says that it does not.

Usage:
  trigger [flags]

A flag that is not given is read from the file of the same name in the input directory, then from Dapr's
environment variables, then the default holds. DAPR_API_TOKEN, if set, is sent to the sidecar.

Flags:
` + c.flags.FlagUsages() + `
Exit codes:
  0  the instance exists now, or its deadline has passed
  3  nothing was started; run again
  4  refused for good: the sidecar rejects the start, or the ID is taken by another workflow
  5  it may or may not have been started; run again, it asks first
  9  the settings or the input are invalid
`
}

func (c CommandLine) given(name string) bool { return c.flags.Changed(name) }

func (c CommandLine) value(name string) string { return c.flags.Lookup(name).Value.String() }
