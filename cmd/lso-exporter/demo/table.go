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
// over and fits into it, elsewhere one plain line for each row whose state has
// changed.
type Table struct {
	out    io.Writer
	size   func() (width, height int) // nil if this is no terminal
	header Header
	drawn  bool              // something is on the screen
	before map[string]string // states of rows in the view before, by name
	shown  map[string]string // as they were printed last
}

// Header is what stands above the table on a terminal.
type Header struct {
	Where []string // where things are; the first line is always there
	Story []string // what there is to see, if there is room
}

// NewTable returns a table on out. size is the size of the terminal that out is,
// in characters, 0 for what is not known; nil if it is none.
func NewTable(out io.Writer, size func() (width, height int), header Header) *Table {
	return &Table{out: out, size: size, header: header, before: map[string]string{}, shown: map[string]string{}}
}

// Show shows a view. An error of the writer is returned.
func (t *Table) Show(v *lag.View) error {
	partitions, groups := partitionRows(v), groupRows(v)
	if t.size != nil {
		return t.draw(v, partitions, groups)
	}
	return t.print(v, append(partitions, groups...))
}

// row is one line of the table: what it is about, and its columns.
type row struct {
	name  string
	cells []cell
	// state is what the row says but for what changes all the time; empty if all
	// is well.
	state string
}

// cell is one column of a row; a value that is not known is empty.
type cell struct {
	column, value string
	wide          bool // left out where there is little room
}

func partitionRows(v *lag.View) []row {
	var rows []row
	for _, topic := range v.Topics {
		for i := range topic.Partitions {
			p := &topic.Partitions[i]
			if topic.Internal && p.StalledFor == 0 && p.Leader != lag.NoBroker {
				continue
			}
			text, state := partitionState(p)
			rows = append(rows, row{
				name: fmt.Sprintf("%s-%d", topic.Name, p.Number), state: state,
				cells: []cell{
					{"START", offset(p.LogStart), true}, {"LSO", offset(p.LastStable), false},
					{"HWM", offset(p.HighWatermark), false}, {"LEO", offset(p.LogEnd), true},
					{"UNSTABLE", count(p.Unstable()), false}, {"UNREPLICATED", count(p.Unreplicated()), true},
					{"STATE", text, false},
				},
			})
		}
	}
	return rows
}

// partitionState says in words what the offsets mean. state is that but for ages,
// and for what comes and goes on every healthy partition with transactions.
func partitionState(p *lag.PartitionView) (text, state string) {
	switch {
	case p.Leader == lag.NoBroker:
		return "no leader", "no leader"
	case !p.LastStable.IsKnown():
		return "not read", "not read"
	case p.Blocker != nil:
		state = "held by " + blocker(p.Blocker)
		return state + ", " + p.Blocker.Age.Round(time.Second).String(), state
	case p.StalledFor > 0:
		state = "LSO stalled"
		return state + " for " + p.StalledFor.Round(time.Second).String(), state
	}
	var texts []string
	if p.Below {
		texts = append(texts, "LSO below HWM")
	}
	if n, ok := p.Unreplicated().Get(); ok && n > 0 {
		state = "HWM below LEO"
		texts = append(texts, state)
	}
	return strings.Join(texts, ", "), state
}

// blocker names a transaction, with what is to be said of it.
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
		verdict += " (" + string(b.Reason) + ")"
	}
	return name + ": " + verdict
}

func groupRows(v *lag.View) []row {
	var rows []row
	for _, g := range v.Groups {
		for _, topic := range g.Topics {
			rows = append(rows, row{
				name: g.Name + " on " + topic.Topic, state: goesOn(topic.State),
				cells: []cell{
					{"LSO LAG", count(topic.LSOLag), false}, {"HWM LAG", count(topic.HWMLag), false}, {"WAITING", age(topic.HWMLagFor), false},
					{"STATE", string(topic.State), false}, {"GROUP", groupState(g), true},
				},
			})
		}
	}
	return rows
}

// goesOn is a group's state, empty for those between which a group that reads
// goes to and fro.
func goesOn(state lag.GroupState) string {
	switch state {
	case lag.StateCaughtUp, lag.StateConsuming, lag.StateUndetermined:
		return ""
	}
	return string(state)
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
	var screen bytes.Buffer
	if !t.drawn {
		screen.WriteString(clearScreen)
		t.drawn = true
	}
	screen.WriteString(home)
	width, height := t.size()
	for _, line := range t.fit(v, partitions, groups, width, height) {
		screen.WriteString(cut(line, width) + clearLine + "\n")
	}
	screen.WriteString(clearBelow)
	_, err := t.out.Write(screen.Bytes())
	return err
}

// narrow is the width below which wide columns are left out.
const narrow = 110

// fit returns the lines of the table, with as much as there is room for: what is
// held back and who does it stays longest.
func (t *Table) fit(v *lag.View, partitions, groups []row, width, height int) []string {
	sweep := fmt.Sprintf("%s  sweep of %v%s", v.Ended.Format(time.TimeOnly), v.Ended.Sub(v.Started).Round(100*time.Microsecond), missed(v))
	wide := width == 0 || width >= narrow
	group := columns("GROUP", groups, wide)
	all := columns("PARTITION", partitions, wide)
	first := t.header.Where[:min(1, len(t.header.Where))]
	for _, lines := range [][]string{
		paragraphs(t.header.Where, t.header.Story, []string{sweep}, all, group),
		paragraphs(t.header.Where, []string{sweep}, all, group),
		paragraphs(append(slices.Clone(first), sweep), all, group),
	} {
		// The cursor stands below the last line.
		if height == 0 || len(lines) < height {
			return lines
		}
	}
	held := slices.DeleteFunc(slices.Clone(partitions), func(r row) bool { return r.state == "" })
	some := columns("PARTITION", held, wide)
	if others := len(partitions) - len(held); others > 0 {
		some = append(some, fmt.Sprintf("and %d others, where nothing is held back", others))
	}
	lines := paragraphs(append(slices.Clone(first), sweep), some, group)
	if len(lines) >= height {
		lines = append(lines[:max(0, height-2)], "… enlarge the terminal to see more")
	}
	return lines
}

// paragraphs puts an empty line between parts that are not empty.
func paragraphs(parts ...[]string) []string {
	var lines []string
	for _, part := range parts {
		if len(part) > 0 && len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, part...)
	}
	return lines
}

// cut is a line as far as it fits.
func cut(line string, width int) string {
	runes := []rune(line)
	if width == 0 || len(runes) <= width {
		return line
	}
	return string(runes[:width-1]) + "…"
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
func columns(heading string, rows []row, wide bool) []string {
	if len(rows) == 0 {
		return nil
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, heading)
	for _, c := range rows[0].cells {
		if wide || !c.wide {
			fmt.Fprint(w, "\t", c.column)
		}
	}
	fmt.Fprintln(w)
	for _, r := range rows {
		fmt.Fprint(w, r.name)
		for _, c := range r.cells {
			if wide || !c.wide {
				fmt.Fprint(w, "\t", c.value)
			}
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // it writes to memory
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// print writes the rows that are there for the first time, those whose state has
// changed and stayed so for two views, and those that are gone.
func (t *Table) print(v *lag.View, rows []row) error {
	var b strings.Builder
	at := v.Ended.Format(time.TimeOnly)
	now := make(map[string]string, len(rows))
	for _, r := range rows {
		now[r.name] = r.state
		before, known := t.before[r.name]
		if shown, ever := t.shown[r.name]; ever && (shown == r.state || !known || before != r.state) {
			continue
		}
		t.shown[r.name] = r.state
		fmt.Fprintf(&b, "%s  %s\n", at, r.line())
	}
	for _, name := range slices.Sorted(maps.Keys(t.before)) {
		if _, ok := now[name]; !ok {
			delete(t.shown, name)
			fmt.Fprintf(&b, "%s  %s  gone\n", at, name)
		}
	}
	if text := missed(v); text != "" {
		fmt.Fprintf(&b, "%s  sweep%s\n", at, text)
	}
	t.before = now
	_, err := io.WriteString(t.out, b.String())
	return err
}

// line is the row as one line of text.
func (r row) line() string {
	line := r.name
	for _, c := range r.cells {
		if c.value != "" {
			line += "  " + c.column + " " + c.value
		}
	}
	return line
}
