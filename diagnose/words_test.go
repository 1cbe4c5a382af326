package diagnose

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                     "0 s",
		40 * time.Microsecond:                 "0 s",
		350 * time.Millisecond:                "350 ms",
		-3 * time.Second:                      "3 s",
		59*time.Second + 999*time.Millisecond: "59 s",
		time.Minute:                           "1 m",
		9*time.Minute + 5*time.Second:         "9 m 5 s",
		12*time.Minute + 5*time.Second:        "12 m",
		2*time.Hour + 4*time.Minute:           "2 h 4 m",
		23*time.Hour + 59*time.Minute:         "23 h",
		26 * time.Hour:                        "1 d 2 h",
		32825 * time.Minute:                   "22 d",
	} {
		if got := span(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{number(0), "0"}, {number(999), "999"}, {number(1000), "1,000"}, {number(1234567), "1,234,567"}, {number(-1234), "-1,234"},
		{count(1, "partition"), "1 partition"}, {count(0, "partition"), "0 partitions"}, {count(2, "query"), "2 queries"},
		{name("billing-7"), "billing-7"}, {name("Source: A -> B"), `"Source: A -> B"`}, {name(""), `""`}, {name("a\nb"), `"a\nb"`},
		{shell("billing-7"), "billing-7"}, {shell("it's"), `'it'\''s'`}, {shell("*"), "'*'"}, {shell(""), "''"},
		{shell("\x1b[31mred"), `$'\x1b[31mred'`}, {shell("it's\n\\ \u202eé\xff"), `$'it\'s\x0a\\ \xe2\x80\xaeé\xff'`},
		{option("--group", "billing"), "--group billing"}, {option("--group", "-rf"), "--group=-rf"}, {option("--group", "-r f"), "--group='-r f'"},
		{option("--group", ""), "--group ''"}, {printable("broker \"2\": é\x1b[31m\xff"), `broker "2": é\x1b[31m\xff`},
		{enumerate([]string{"a"}), "a"}, {enumerate([]string{"a", "b"}), "a and b"},
		{enumerate([]string{"a", "b", "c", "d", "e", "f"}), "a, b, c, d, e and f"},
		{enumerate([]string{"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d, e and 2 more"},
	} {
		if test.got != test.want {
			t.Errorf("got %q, want %q", test.got, test.want)
		}
	}
}
