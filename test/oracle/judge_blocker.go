package oracle

import (
	"fmt"
	"slices"
	"time"
)

// Verdicts on transactions, as they are shown.
const (
	ongoing    = "ongoing"
	overdue    = "overdue"
	completing = "completing"
	hanging    = "hanging"
)

// overdueGrace is the least time past its deadline after which a transaction may
// be called overdue.
const overdueGrace = moment(5 * time.Second)

// verdictOf judges what is said of the transaction that holds a partition,
// where its producer is known. The record does not know what a coordinator
// forgets, so that ownerless may always be true, and unknown is.
func (v *verdict) verdictOf(s sample) {
	producer, said := "producer "+s.labels["producer_id"], s.labels["verdict"]
	list := v.whole(s)
	if s.labels["producer_id"] == "" || len(list) != 1 || len(list[0].wild) > 0 {
		return
	}
	p := list[0]
	candidates := p.counted(producer, v.s, v.e)
	switch said {
	case ongoing, overdue:
		if len(candidates) == 0 {
			v.wrong(s, "any verdict but ongoing and overdue: no transaction of the producer that the coordinator counts there may be open", "a transaction is called open that has ended")
		}
	case completing, hanging:
		for _, t := range candidates {
			if t.since <= v.s && t.end.early > v.e && p.open(producer, v.s, v.e) {
				v.wrong(s, "ongoing: the coordinator counts the partition to an open transaction", "an open transaction is called "+said)
			}
		}
	}
	if said == overdue && len(candidates) > 0 && !slices.ContainsFunc(candidates, func(t registration) bool {
		return t.timeout == never || t.begun+t.timeout+overdueGrace <= v.e
	}) {
		v.wrong(s, "ongoing: its deadline is not over by 5 s", "a transaction is called overdue too early")
	}
}

// registration is a transaction that its coordinator counts a partition to.
type registration struct {
	*transaction
	since moment // for certain
}

// register says since when the transactions count the partition, by the batches
// that were written to it.
func register(txns []*transaction, batches []written) []registration {
	since := map[*transaction]moment{}
	for _, w := range batches {
		if at, known := since[w.txn]; !known || momentOf(w.act.Answered) < at {
			since[w.txn] = momentOf(w.act.Answered)
		}
	}
	out := make([]registration, len(txns))
	for i, t := range txns {
		at, known := since[t]
		if !known {
			at = never
		}
		out[i] = registration{t, at}
	}
	return out
}

// counted are the transactions of a producer that its coordinator counts the
// partition to and that may be open within [s, e].
func (p *partition) counted(producer string, s, e moment) []registration {
	var out []registration
	for _, t := range p.registered {
		if t.id == producer && !t.byHand && t.begun <= e && s <= t.end.late {
			out = append(out, t)
		}
	}
	return out
}

// open says whether the producer had a transaction open in the partition for
// certain all through [s, e].
func (p *partition) open(producer string, s, e moment) bool {
	for _, sp := range p.spans {
		if from, to := sp.surely(); sp.id == producer && from <= s && e < to {
			return true
		}
	}
	return false
}

// deadline judges when the transaction that holds a partition reaches its
// timeout: it began when the record says, by the coordinator's clock, which
// counts in milliseconds.
func (v *verdict) deadline(s sample) {
	v.below(s)
	info, ok := v.page.byName[blocker][refOf(s)]
	if !ok {
		return // its series was cut
	}
	if said := info.labels["verdict"]; said != ongoing && said != overdue {
		v.wrong(s, "nothing: there is a deadline only for ongoing and overdue", "a deadline of a transaction that is "+said)
		return
	}
	list := v.whole(s)
	if len(list) != 1 {
		return
	}
	at, slack := moment(s.value*1e9), moment(tolerance)
	allowed := ""
	for _, t := range list[0].counted("producer "+info.labels["producer_id"], v.s, v.e) {
		least, most := t.begun+t.timeout-slack, v.e+t.timeout+slack
		if t.timeout == never || at >= least && at <= most {
			return
		}
		allowed += fmt.Sprintf("between %.3f and %.3f; ", float64(least)/1e9, float64(most)/1e9)
	}
	if allowed != "" {
		v.wrong(s, allowed, "the deadline is not begin and timeout")
	}
}
