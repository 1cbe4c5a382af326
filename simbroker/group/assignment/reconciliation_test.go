package assignment

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
		state                  State
		epoch                  int32
		assigned, revoking     string
		target, taken, owned   string
		subscribed             string
		subscriptionHasChanged bool
		want                   string
	}{
		{"there", Stable, 2, "ab", "", "ab", "", "ab", "abcd", false, "stable 2 ab/"},
		{"something to give up", Stable, 1, "ab", "", "a", "", "ab", "abcd", false, "unrevoked 1 a/b"},
		{"it does not say what it has", Stable, 1, "ab", "", "a", "", silent, "abcd", false, "unrevoked 1 a/b"},
		{"it has given up already", Stable, 1, "ab", "", "a", "", "a", "abcd", false, "stable 2 a/"},
		{"something to get", Stable, 1, "a", "", "ac", "", "a", "abcd", false, "stable 2 ac/"},
		{"another still has it", Stable, 1, "a", "", "ac", "c", "a", "abcd", false, "unreleased 2 a/"},
		{"a part of it", Stable, 1, "a", "", "acd", "c", "a", "abcd", false, "unreleased 2 ad/"},
		{"a target for topics that it gave up", Stable, 1, "a", "", "ac", "", "a", "ab", false, "stable 2 a/"},
		{"still to give up", Unrevoked, 1, "a", "b", "a", "", "ab", "abcd", false, "unrevoked 1 a/b"},
		{"still silent", Unrevoked, 1, "a", "b", "a", "", silent, "abcd", false, "unrevoked 1 a/b"},
		{"given up", Unrevoked, 1, "a", "b", "ac", "", "a", "abcd", false, "stable 2 ac/"},
		{"and more to give up", Unrevoked, 1, "ad", "b", "a", "", "ad", "abcd", false, "unrevoked 1 a/d"},
		{"waits", Unreleased, 2, "a", "", "ac", "c", "a", "abcd", false, "unreleased 2 a/"},
		{"waited enough", Unreleased, 2, "a", "", "ac", "", "a", "abcd", false, "stable 2 ac/"},
		{"unsubscribed", Stable, 2, "ab", "", "ab", "", "ab", "a", true, "unrevoked 2 a/b"},
		{"unsubscribed, and gave up", Stable, 2, "ab", "", "ab", "", "a", "a", true, "stable 2 a/"},
		{"unsubscribed from nothing", Stable, 2, "ab", "", "ab", "", "ab", "abc", true, "stable 2 ab/"},
		{"unsubscribed while it gives up", Unrevoked, 1, "ac", "b", "ac", "", "abc", "a", true, "unrevoked 1 a/bc"},
		{"a state of later versions", Unknown, 1, "a", "", "b", "", "", "abcd", false, "stable 2 b/"},
		{"which owns something", Unknown, 1, "a", "", "b", "", "a", "abcd", false, "FENCED_MEMBER_EPOCH"},
		{"which does not say", Unknown, 1, "a", "", "b", "", silent, "abcd", false, "FENCED_MEMBER_EPOCH"},
	} {
		r := Reconciliation[rune]{
			Has:         Holding[rune]{Epoch: c.epoch, State: c.state, Assigned: letters(c.assigned), Revoking: letters(c.revoking)},
			Target:      SetOfKeys(letters(c.target)),
			TargetEpoch: 2, SubscriptionChanged: c.subscriptionHasChanged,
			Subscribed: func(p rune) bool { return strings.ContainsRune(c.subscribed, p) },
			Taken:      func(p rune) bool { return strings.ContainsRune(c.taken, p) },
		}
		if c.owned != silent {
			r.Owned = SetOfKeys(letters(c.owned))
		}
		n, err := r.Next()
		names := map[State]string{Stable: "stable", Unrevoked: "unrevoked", Unreleased: "unreleased"}
		got := fmt.Sprintf("%s %d %s/%s", names[n.State], n.Epoch, lettersOf(n.Assigned), lettersOf(n.Revoking))
		if errors.Is(err, kafka.ErrFencedMemberEpoch) {
			got = string(kafka.ErrFencedMemberEpoch)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
