package metrics

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxLabelValue is the greatest length of a label value, in characters.
const MaxLabelValue = 1024

// alteredSuffix ends every altered value: "~" and 128 bits of a hash.
var alteredSuffix = regexp.MustCompile(`~[0-9a-f]{32}$`)

const alteredSuffixLength = 33

// LabelValue is the label value that shows a name of Kafka's, and whether it
// had to be altered. Names of up to MaxLabelValue characters that are valid
// UTF-8 are shown as they are, whatever the characters. Any other is shown
// with invalid bytes replaced by U+FFFD, cut so that with "~" and 32
// hexadecimal digits of the SHA-256 of the whole name it has at most
// MaxLabelValue characters.
//
// Different names have different label values: a name that itself ends like
// an altered one is altered too, so that an altered value is never also
// somebody's name.
func LabelValue(name string) (value string, altered bool) {
	if len(name) < alteredSuffixLength && utf8.ValidString(name) {
		return name, false // nearly all of them
	}
	if utf8.RuneCountInString(name) <= MaxLabelValue && utf8.ValidString(name) && !alteredSuffix.MatchString(name) {
		return name, false
	}
	shown := []rune(strings.ToValidUTF8(name, "\uFFFD"))
	if most := MaxLabelValue - alteredSuffixLength; len(shown) > most {
		shown = shown[:most]
	}
	hash := sha256.Sum256([]byte(name))
	return string(shown) + "~" + hex.EncodeToString(hash[:16]), true
}
