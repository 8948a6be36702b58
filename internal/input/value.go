package input

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// byteOrderMark is what some editors put before a text that they save as UTF-8.
const byteOrderMark = "\uFEFF"

// cut returns the value that a file holds: without a leading byte order mark and the white space around it.
func cut(content []byte) string {
	return strings.TrimSpace(strings.TrimPrefix(string(content), byteOrderMark))
}

// checkValue says what in a value nobody would find by looking at it. The instance that such a name starts
// fails, and its ID is used up.
func checkValue(text string) error {
	if !utf8.ValidString(text) {
		return notUTF8(text)
	}
	position := 0
	for _, r := range text {
		position++
		switch {
		case strings.ContainsRune("\n\v\f\r\u0085\u2028\u2029", r):
			return fmt.Errorf("character %d is %U, a line break: a value is one line", position, r)
		case !visible(r):
			return fmt.Errorf("character %d is %U, which nobody sees", position, r)
		}
	}
	if strings.Trim(text, " ") != text { // cut from a file, and a part of the value on a command line
		return errors.New("begins or ends with a blank (U+0020), which nobody sees")
	}
	return nil
}

// visible says whether a character shows. Unicode calls some of them printable that are drawn as nothing.
func visible(r rune) bool {
	const emptyBraille = '\u2800'
	return unicode.IsPrint(r) && r != emptyBraille && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// notUTF8 is what is wrong with a text that is not UTF-8.
func notUTF8(text string) error {
	if strings.HasPrefix(text, "\xFF\xFE") || strings.HasPrefix(text, "\xFE\xFF") {
		return errors.New("not UTF-8 but UTF-16, by its byte order mark")
	}
	return errors.New("not UTF-8")
}
