package demo

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Table shows views to a person: on a terminal one table that is drawn over and
// over, elsewhere one plain line for each row that changed.
type Table struct {
	out      io.Writer
	terminal bool
	header   []string          // lines above the table, on a terminal
	drawn    bool              // something is on the screen
	last     map[string]string // rows as they were shown last, by name
}

// NewTable returns a table on out. The header's lines stand above it.
func NewTable(out io.Writer, terminal bool, header ...string) *Table {
	return &Table{out: out, terminal: terminal, header: header, last: map[string]string{}}
}

// Show shows a view. An error of the writer is returned.
func (t *Table) Show(v *lag.View) error {
	partitions, groups := partitionRows(v), groupRows(v)
	if t.terminal {
		return t.draw(v, partitions, groups)
	}
	return t.print(v, append(partitions, groups...))
}

// row is one line of the table: what it is about, and its columns.
type row struct {
	name  string
	cells []cell
}

// cell is one column of a row; a value that is not known is empty.
type cell struct{ column, value string }

func partitionRows(v *lag.View) []row {
	var rows []row
	for _, topic := range v.Topics {
		for i := range topic.Partitions {
			p := &topic.Partitions[i]
			if topic.Internal && p.StalledFor == 0 && p.Leader != lag.NoBroker {
				continue
			}
			rows = append(rows, row{fmt.Sprintf("%s-%d", topic.Name, p.Number), []cell{
				{"START", offset(p.LogStart)}, {"LSO", offset(p.LastStable)},
				{"HWM", offset(p.HighWatermark)}, {"LEO", offset(p.LogEnd)},
				{"UNSTABLE", count(p.Unstable())}, {"UNREPLICATED", count(p.Unreplicated())},
				{"STATE", partitionState(p)},
			}})
		}
	}
	return rows
}

// partitionState says in words what the offsets mean.
func partitionState(p *lag.PartitionView) string {
	var states []string
	switch {
	case p.Leader == lag.NoBroker:
		return "no leader"
	case !p.LastStable.IsKnown():
		return "not read"
	case p.Blocker != nil:
		states = append(states, "held by "+blocker(p.Blocker))
	case p.StalledFor > 0:
		states = append(states, "LSO stalled for "+p.StalledFor.Round(time.Second).String())
	case p.Below:
		states = append(states, "LSO below HWM")
	}
	if n, ok := p.Unreplicated().Get(); ok && n > 0 {
		states = append(states, "HWM below LEO")
	}
	return strings.Join(states, ", ")
}

// blocker names a transaction, with what is to be said of it and its age.
func blocker(b *lag.Blocker) string {
	name := "a transaction"
	if p, ok := b.Producer.Get(); ok {
		name = fmt.Sprintf("producer %d", p.ID)
	}
	if b.TransactionalID != "" {
		name = b.TransactionalID
	}
	verdict := string(b.Verdict)
	if b.Reason != lag.ReasonNone {
		verdict += ", " + string(b.Reason)
	}
	return fmt.Sprintf("%s (%s, %v)", name, verdict, b.Age.Round(time.Second))
}

func groupRows(v *lag.View) []row {
	var rows []row
	for _, g := range v.Groups {
		for _, topic := range g.Topics {
			rows = append(rows, row{g.Name + " on " + topic.Topic, []cell{
				{"LSO LAG", count(topic.LSOLag)}, {"HWM LAG", count(topic.HWMLag)}, {"WAITING", age(topic.HWMLagFor)},
				{"STATE", string(topic.State)}, {"GROUP", groupState(g)},
			}})
		}
	}
	return rows
}

func groupState(g lag.GroupView) string {
	members, ok := g.Members.Get()
	if !ok {
		return g.State
	}
	noun := "members"
	if members == 1 {
		noun = "member"
	}
	return fmt.Sprintf("%s, %d %s", g.State, members, noun)
}

// age is how long the next unread record has been there, to the second.
func age(d lag.Optional[time.Duration]) string {
	if v, ok := d.Get(); ok {
		return v.Round(time.Second).String()
	}
	return ""
}

func offset(o lag.Optional[lag.Offset]) string {
	if v, ok := o.Get(); ok {
		return fmt.Sprint(int64(v))
	}
	return ""
}

func count(c lag.Optional[lag.Count]) string {
	if v, ok := c.Get(); ok {
		return fmt.Sprint(int64(v))
	}
	return ""
}

// What a terminal understands (ECMA-48). Drawing over what is there, line by
// line, does not flicker.
const (
	home        = "\x1b[H"
	clearScreen = "\x1b[2J"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// draw puts the whole table in the place of the one before.
func (t *Table) draw(v *lag.View, partitions, groups []row) error {
	var b bytes.Buffer
	for _, line := range t.header {
		fmt.Fprintln(&b, line)
	}
	fmt.Fprintf(&b, "\n%s  sweep of %v%s\n\n", v.Ended.Format(time.TimeOnly),
		v.Ended.Sub(v.Started).Round(100*time.Microsecond), missed(v))
	columns(&b, "PARTITION", partitions)
	fmt.Fprintln(&b)
	columns(&b, "GROUP", groups)

	var screen bytes.Buffer
	if !t.drawn {
		screen.WriteString(clearScreen)
		t.drawn = true
	}
	screen.WriteString(home)
	screen.Write(bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte(clearLine+"\n")))
	screen.WriteString(clearBelow)
	_, err := t.out.Write(screen.Bytes())
	return err
}

func missed(v *lag.View) string {
	if v.Failure != "" {
		return ", which failed: " + v.FailureLine()
	}
	var b strings.Builder
	for _, m := range v.Missed {
		fmt.Fprintf(&b, ", %s not read (%s)", m.Subject, m.Kind)
	}
	return b.String()
}

// columns aligns rows under a heading.
func columns(out io.Writer, heading string, rows []row) {
	if len(rows) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprint(w, heading)
	for _, c := range rows[0].cells {
		fmt.Fprint(w, "\t", c.column)
	}
	fmt.Fprintln(w)
	for _, r := range rows {
		fmt.Fprint(w, r.name)
		for _, c := range r.cells {
			fmt.Fprint(w, "\t", c.value)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // out is a buffer, which takes everything
}

// print writes the rows that are not as they were, and those that are gone.
func (t *Table) print(v *lag.View, rows []row) error {
	var b strings.Builder
	at := v.Ended.Format(time.TimeOnly)
	now := make(map[string]string, len(rows))
	for _, r := range rows {
		line := r.name
		for _, c := range r.cells {
			if c.value != "" {
				line += "  " + c.column + " " + c.value
			}
		}
		now[r.name] = line
		if t.last[r.name] != line {
			fmt.Fprintf(&b, "%s  %s\n", at, line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.last)) {
		if _, ok := now[name]; !ok {
			fmt.Fprintf(&b, "%s  %s  gone\n", at, name)
		}
	}
	if text := missed(v); text != "" {
		fmt.Fprintf(&b, "%s  sweep%s\n", at, text)
	}
	t.last = now
	_, err := io.WriteString(t.out, b.String())
	return err
}
