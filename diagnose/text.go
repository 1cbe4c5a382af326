package diagnose

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lso-exporter/lso-exporter/lag"
)

// How much of a report is text; the JSON form has all of it.
const (
	width         = 100 // columns of prose; headlines and commands are not broken
	fullEntries   = 5   // entries of a section with their explanations
	briefEntries  = 50  // entries after them, as headlines
	mostHeadlines = 10  // partitions of one transaction
)

// The colours of a terminal (ECMA-48).
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31;1m"
	green  = "\x1b[32;1m"
	yellow = "\x1b[33;1m"
	faint  = "\x1b[2m"
	reset  = "\x1b[0m"
)

// JSON writes the report as one JSON document. The error is w's.
func (r *Report) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// Text writes the report for a person: with colours for a terminal, without for
// a pipe. The error is w's.
func (r *Report) Text(w io.Writer, colours bool) error {
	t := &text{colours: colours}
	t.answer(r)
	t.held(r)
	t.untold(r)
	t.rights(r)
	t.remarks(r)
	t.audit(r)
	_, err := io.WriteString(w, t.String())
	return err
}

// text is a report while it is written.
type text struct {
	strings.Builder
	colours bool
}

// paint colours a text, where there are colours.
func (t *text) paint(colour, s string) string {
	if !t.colours {
		return s
	}
	return colour + s + reset
}

// section begins a section.
func (t *text) section(colour, title string) { fmt.Fprintf(t, "\n%s\n", t.paint(colour, title)) }

// headline writes the first line of an entry.
func (t *text) headline(s string) { fmt.Fprintf(t, "\n%s\n", t.paint(bold, s)) }

// prose writes a paragraph, broken into lines, behind a label.
func (t *text) prose(label, s string) {
	const indent = "  "
	line := indent + label
	for word := range strings.FieldsSeq(s) {
		if strings.TrimSpace(line) != strings.TrimSpace(label) && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			t.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	t.WriteString(line + "\n")
}

// command writes a command line, on a line of its own.
func (t *text) command(s string) { fmt.Fprintf(t, "    %s\n", s) }

// answer begins a report with what it is good for.
func (t *text) answer(r *Report) {
	colour, word := green, "HEALTHY"
	switch r.Status {
	case HeldBack:
		colour, word = red, "HELD BACK"
	case Unknown:
		colour, word = yellow, "COULD NOT TELL"
	}
	summary := strings.TrimPrefix(r.Summary, "could not tell whether something is held back: ")
	fmt.Fprintf(t, "%s: %s\n", t.paint(colour, word), summary)
	c := r.Cluster
	if c.Brokers == 0 {
		return
	}
	watched := "1 sweep"
	if r.Sweeps > 1 {
		watched = fmt.Sprintf("%s in %s, the last", count(r.Sweeps, "sweep"), span(time.Duration(r.WatchedSeconds*float64(time.Second))))
	}
	id := ""
	if c.ID != "" {
		id = " " + c.ID
	}
	t.WriteString(t.paint(faint, fmt.Sprintf("cluster%s: %s, %s, %s, %s; %s at %s", id, count(c.Brokers, "broker"), count(c.Topics, "topic"),
		count(c.Partitions, "partition"), count(c.Groups, "group"), watched, clock(r.At))) + "\n")
}

// entries writes a section's entries: the first few in full, the others as
// headlines. It says where the commands are of those that are not in full;
// commanded tells which have any.
func (t *text) entries(n int, full, brief func(i int), commanded func(i int) bool) {
	hidden := 0
	for i := range n {
		switch {
		case i < fullEntries:
			full(i)
			continue
		case i < fullEntries+briefEntries:
			brief(i)
		case i == fullEntries+briefEntries:
			t.headline(fmt.Sprintf("and %s more (--output=json has all)", number(n-i)))
		}
		if commanded(i) {
			hidden++
		}
	}
	if hidden > 0 {
		t.WriteString("\n")
		t.prose("", fmt.Sprintf("For the commands of %s more of these, use --output=json, or narrow the report with --topic, --group or --transactional-id.", number(hidden)))
	}
}

// held writes what is held back, transactions first.
func (t *text) held(r *Report) {
	transactions := slices.DeleteFunc(slices.Clone(r.Transactions), func(x Transaction) bool { return !x.HeldBack })
	groups := slices.DeleteFunc(slices.Clone(r.Groups), func(g Group) bool { return !g.HeldBack })
	if len(transactions)+len(groups) == 0 {
		return
	}
	t.section(red, "WHAT IS HELD BACK")
	t.transactions(transactions)
	t.groups(groups)
}

// transactions writes entries of transactions.
func (t *text) transactions(list []Transaction) {
	t.entries(len(list), func(i int) { t.transaction(&list[i]) }, func(i int) { t.headlines(&list[i]) },
		func(i int) bool { return len(list[i].Commands) > 0 || slices.ContainsFunc(list[i].Partitions, aborted) })
}

// headlines writes the headlines of the partitions that a transaction holds.
func (t *text) headlines(x *Transaction) {
	t.WriteString("\n")
	for i, p := range x.Partitions {
		if i == mostHeadlines {
			fmt.Fprintf(t, "%s\n", t.paint(bold, fmt.Sprintf("and %s more (--output=json has all)", count(len(x.Partitions)-i, "partition"))))
			break
		}
		fmt.Fprintf(t, "%s\n", t.paint(bold, p.Headline))
	}
}

// aborted says whether there is a command that ends what holds a partition.
func aborted(p HeldPartition) bool { return p.Abort != nil }

// transaction writes an entry in full.
func (t *text) transaction(x *Transaction) {
	t.headlines(x)
	for _, s := range x.Meaning {
		t.prose("", s)
	}
	label := "What to do:"
	for _, s := range x.Remedy {
		t.prose(label, s)
		label = ""
	}
	if len(x.Commands) > 0 {
		for _, c := range x.Commands {
			t.command(c)
		}
	}
	aborts := x.Partitions[:min(len(x.Partitions), mostHeadlines)]
	if slices.ContainsFunc(aborts, aborted) {
		t.prose("To see and save the records,", "with those that others wrote between:")
		for _, p := range aborts {
			if p.Abort != nil {
				t.command(p.Abort.SaveCommand)
			}
		}
		for _, p := range aborts {
			if p.Abort == nil {
				continue
			}
			t.prose(t.paint(red, "Abort by hand"), fmt.Sprintf("discards, for ever, %s:", p.Abort.Discards))
			t.command(p.Abort.Command)
			t.prose("On brokers before Kafka 3.0:", "")
			t.command(p.Abort.OlderCommand)
		}
	}
	t.prose("More:", x.Runbook)
}

// groups writes entries of groups.
func (t *text) groups(list []Group) {
	t.entries(len(list), func(i int) {
		g := &list[i]
		t.headline(g.Headline)
		for _, s := range g.Meaning {
			t.prose("", s)
		}
		label := "What to do:"
		for _, s := range g.Remedy {
			t.prose(label, s)
			label = ""
		}
		for _, c := range g.Commands {
			t.command(c)
		}
		if g.Runbook != "" {
			t.prose("More:", g.Runbook)
		}
	}, func(i int) { fmt.Fprintf(t, "\n%s\n", t.paint(bold, list[i].Headline)) },
		func(i int) bool { return len(list[i].Commands) > 0 })
}

// untold writes what could not be told, but for rights.
func (t *text) untold(r *Report) {
	transactions := slices.DeleteFunc(slices.Clone(r.Transactions), func(x Transaction) bool { return x.HeldBack })
	groups := slices.DeleteFunc(slices.Clone(r.Groups), func(g Group) bool { return g.Kind != KindUndetermined })
	misses := slices.DeleteFunc(slices.Clone(r.Untold), func(u Untold) bool { return u.Kind == "failure" })
	if len(transactions)+len(groups)+len(misses) == 0 {
		return
	}
	t.section(yellow, "WHAT COULD NOT BE TOLD")
	t.transactions(transactions)
	t.groups(groups)
	if len(misses) > 0 {
		t.WriteString("\n")
	}
	for _, u := range misses {
		sentence := u.Sentence
		if u.Count > 1 {
			sentence += fmt.Sprintf(", %s times", number(u.Count))
		}
		if u.Harmless {
			sentence += "; that does not change the answer"
		}
		t.prose("-", sentence)
	}
}

// rights writes which rights were missed.
func (t *text) rights(r *Report) {
	if len(r.Missing) == 0 {
		return
	}
	t.section(yellow, "RIGHTS THAT WERE MISSED")
	t.WriteString("\n")
	for _, m := range r.Missing {
		s := "hides " + m.Hides
		if m.Harmless {
			s += "; that does not change the answer"
		}
		t.prose(m.Right, s)
		if command := cmp.Or(m.Grant, m.Find); command != "" {
			t.command(command)
		}
	}
}

// remarks writes what there is to say of groups that are not held back.
func (t *text) remarks(r *Report) {
	groups := slices.DeleteFunc(slices.Clone(r.Groups), func(g Group) bool { return g.HeldBack || g.Kind == KindUndetermined })
	if len(groups) == 0 {
		return
	}
	t.section(bold, "GROUPS")
	t.groups(groups)
}

// audit writes what is weak, and what could not be checked.
func (t *text) audit(r *Report) {
	a := &r.Audit
	if a.Failure != "" {
		t.section(bold, "CLUSTER AUDIT")
		t.prose("", "It could not be made: "+printable(strings.ReplaceAll(a.Failure, "\n", "; ")))
		return
	}
	var weak, notChecked []Finding
	for _, f := range a.Checks {
		switch f.Result {
		case lag.Weak:
			weak = append(weak, f)
		case lag.NotChecked:
			notChecked = append(notChecked, f)
		}
	}
	if len(weak)+len(notChecked) == 0 {
		return
	}
	t.section(bold, fmt.Sprintf("CLUSTER AUDIT: what makes exactly-once weaker than it looks (%s of %s good)",
		number(len(a.Checks)-len(weak)-len(notChecked)), count(len(a.Checks), "check")))
	for _, f := range weak {
		t.headline(f.Headline)
		t.prose("", f.Consequence)
		t.prose("What to do:", f.Remedy)
	}
	for i, f := range notChecked {
		if i == 0 {
			t.WriteString("\n")
		}
		t.prose("-", f.Headline)
	}
}
