package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Suggestion is "; did you mean …?" for the option that is nearest to text, and
// empty when none is near. The option is shown with prefix before it.
func Suggestion(text string, options []string, prefix string) string {
	best, distance := "", near(text)+1
	if len(text) > longestWord {
		return ""
	}
	for _, option := range options {
		if d := editDistance(strings.ToLower(text), strings.ToLower(option)); d < distance {
			best, distance = option, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, best)
}

// longestWord is more than any key, variable or flag has, in bytes.
const longestWord = 100

// near is how many slips of the keyboard a word may be from what was meant: one
// in a short word, a few in a long one, none in one of a letter or two.
func near(text string) int {
	n := utf8.RuneCountInString(text)
	return min(n/6+1, n/3, 3)
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours (optimal string alignment) that turn a into b.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
