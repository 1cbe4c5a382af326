package oracle

import "fmt"

// The metrics under names of kafka_exporter say what ours on the same page say,
// which are judged by the record.

// as holds a sample to be that of another metric about the same.
func as(name string) func(*verdict, sample) {
	return func(v *verdict, s sample) {
		r := refOf(s)
		r.group = s.labels["consumergroup"]
		want, ok := v.page.get(name, r)
		switch {
		case !ok && v.show(name):
			v.wrong(s, "nothing without "+name, "a metric under another name stands alone")
		case ok && s.value != want:
			v.wrong(s, fmt.Sprintf("%v, as %s says", want, name), "a metric under another name is another")
		}
	}
}

// underReplicated is 1 where fewer replicas are in sync than there are.
func (v *verdict) underReplicated(s sample) {
	all, ok := v.page.get(replicas, refOf(s))
	some, also := v.page.get(inSync, refOf(s))
	want := 0.0
	if some < all {
		want = 1
	}
	if ok && also && s.value != want {
		v.wrong(s, fmt.Sprintf("%v: %v of %v replicas are in sync", want, some, all), "a partition is said to lack replicas, or not to")
	}
}

// preferred is 0 or 1: the record does not know the order of replicas.
func (v *verdict) preferred(s sample) {
	if s.value != 0 && s.value != 1 {
		v.wrong(s, "0 or 1", "a yes or no is neither")
	}
}

// lagWithLost is the lag and what was lost before it was read.
func (v *verdict) lagWithLost(s sample) {
	r := ref{s.labels["consumergroup"], s.labels["topic"], s.labels["partition"]}
	behind, ok := v.page.get(hwmLag, r)
	gone, _ := v.page.get(lost, r)
	switch {
	case !ok && v.show(hwmLag):
		v.wrong(s, "nothing without "+hwmLag, "a metric under another name stands alone")
	case ok && s.value != behind+gone:
		v.wrong(s, fmt.Sprintf("%v + %v", behind, gone), "a lag is not made of its parts")
	}
}

// sumOf holds a sample to be the sum over the partitions of its group and topic.
func sumOf(part string) func(*verdict, sample) {
	return func(v *verdict, s sample) {
		want := 0.0
		for _, p := range v.page.samples {
			if p.name == part && p.labels["consumergroup"] == s.labels["consumergroup"] && p.labels["topic"] == s.labels["topic"] {
				want += p.value
			}
		}
		if v.show(part) && s.value != want {
			v.wrong(s, fmt.Sprint(want), "a sum is not the sum of its parts")
		}
	}
}

// countOf holds a sample to be the number of samples of another metric about the
// same topic, or about the cluster.
func countOf(name string) func(*verdict, sample) {
	return func(v *verdict, s sample) {
		want := 0.0
		for _, p := range v.page.samples {
			if p.name == name && (s.labels["topic"] == "" || p.labels["topic"] == s.labels["topic"]) {
				want++
			}
		}
		if v.show(name) && s.value != want {
			v.wrong(s, fmt.Sprint(want), "a number is not that of what is shown")
		}
	}
}
