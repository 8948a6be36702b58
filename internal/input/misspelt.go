package input

import "strings"

// meant returns the setting that the name of a file comes close to, "" if there is none: it differs only in
// case, in the characters between the words, or by an ending. To ignore such a file could start a workflow
// without its deadline.
func meant(file string) string {
	for _, s := range settings {
		for rest := file; rest != ""; rest = withoutEnding(rest) {
			if letters(rest) == letters(s.name) {
				return s.name
			}
		}
	}
	return ""
}

// withoutEnding drops the last dot and what is behind it. A name without a dot has nothing else to it.
func withoutEnding(name string) string { return name[:max(strings.LastIndex(name, "."), 0)] }

// letters returns what two spellings of one name have in common.
func letters(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(name))
}
