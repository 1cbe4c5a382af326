package group

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// letters is the letters of a word, each at epoch 1.
func letters(word string) map[rune]int32 {
	m := make(map[rune]int32)
	for _, r := range word {
		m[r] = 1
	}
	return m
}

func lettersOf[V any](m map[rune]V) string {
	keys := slices.Sorted(maps.Keys(m))
	return string(keys)
}

// Rule H3: a member's next step, by what it has, its target and what it says.
func TestH3NextStep(t *testing.T) {
	const silent = "-" // it does not say what it has
	for _, c := range []struct {
		name                   string
		state                  memberState
		epoch                  int32
		assigned, revoking     string
		target, taken, owned   string
		subscribed             string
		subscriptionHasChanged bool
		want                   string
	}{
		{"there", memberStable, 2, "ab", "", "ab", "", "ab", "abcd", false, "stable 2 ab/"},
		{"something to give up", memberStable, 1, "ab", "", "a", "", "ab", "abcd", false, "unrevoked 1 a/b"},
		{"it does not say what it has", memberStable, 1, "ab", "", "a", "", silent, "abcd", false, "unrevoked 1 a/b"},
		{"it has given up already", memberStable, 1, "ab", "", "a", "", "a", "abcd", false, "stable 2 a/"},
		{"something to get", memberStable, 1, "a", "", "ac", "", "a", "abcd", false, "stable 2 ac/"},
		{"another still has it", memberStable, 1, "a", "", "ac", "c", "a", "abcd", false, "unreleased 2 a/"},
		{"a part of it", memberStable, 1, "a", "", "acd", "c", "a", "abcd", false, "unreleased 2 ad/"},
		{"a target for topics that it gave up", memberStable, 1, "a", "", "ac", "", "a", "ab", false, "stable 2 a/"},
		{"still to give up", memberUnrevoked, 1, "a", "b", "a", "", "ab", "abcd", false, "unrevoked 1 a/b"},
		{"still silent", memberUnrevoked, 1, "a", "b", "a", "", silent, "abcd", false, "unrevoked 1 a/b"},
		{"given up", memberUnrevoked, 1, "a", "b", "ac", "", "a", "abcd", false, "stable 2 ac/"},
		{"and more to give up", memberUnrevoked, 1, "ad", "b", "a", "", "ad", "abcd", false, "unrevoked 1 a/d"},
		{"waits", memberUnreleased, 2, "a", "", "ac", "c", "a", "abcd", false, "unreleased 2 a/"},
		{"waited enough", memberUnreleased, 2, "a", "", "ac", "", "a", "abcd", false, "stable 2 ac/"},
		{"unsubscribed", memberStable, 2, "ab", "", "ab", "", "ab", "a", true, "unrevoked 2 a/b"},
		{"unsubscribed, and gave up", memberStable, 2, "ab", "", "ab", "", "a", "a", true, "stable 2 a/"},
		{"unsubscribed from nothing", memberStable, 2, "ab", "", "ab", "", "ab", "abc", true, "stable 2 ab/"},
		{"unsubscribed while it gives up", memberUnrevoked, 1, "ac", "b", "ac", "", "abc", "a", true, "unrevoked 1 a/bc"},
		{"a state of later versions", memberStateOfFuture, 1, "a", "", "b", "", "", "abcd", false, "stable 2 b/"},
		{"which owns something", memberStateOfFuture, 1, "a", "", "b", "", "a", "abcd", false, "FENCED_MEMBER_EPOCH"},
		{"which does not say", memberStateOfFuture, 1, "a", "", "b", "", silent, "abcd", false, "FENCED_MEMBER_EPOCH"},
	} {
		r := reconciliation[rune]{
			has:         holding[rune]{epoch: c.epoch, state: c.state, assigned: letters(c.assigned), revoking: letters(c.revoking)},
			target:      setOfKeys(letters(c.target)),
			targetEpoch: 2, subscriptionChanged: c.subscriptionHasChanged,
			subscribed: func(p rune) bool { return strings.ContainsRune(c.subscribed, p) },
			taken:      func(p rune) bool { return strings.ContainsRune(c.taken, p) },
		}
		if c.owned != silent {
			r.owned = setOfKeys(letters(c.owned))
		}
		n, err := r.next()
		names := map[memberState]string{memberStable: "stable", memberUnrevoked: "unrevoked", memberUnreleased: "unreleased"}
		got := fmt.Sprintf("%s %d %s/%s", names[n.state], n.epoch, lettersOf(n.assigned), lettersOf(n.revoking))
		if errors.Is(err, kafka.ErrFencedMemberEpoch) {
			got = string(kafka.ErrFencedMemberEpoch)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
