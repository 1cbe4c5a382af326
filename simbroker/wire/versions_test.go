package wire

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Everything offered has a handler and a codec, and every handler is offered.
func TestEveryOfferedVersionCanBeServed(t *testing.T) {
	offered := Kafka43()
	for key, r := range offered {
		name := kmsg.NameForKey(key)
		if _, ok := handlers[key]; !ok {
			t.Errorf("%s is offered and has no handler", name)
		}
		req := kmsg.RequestForKey(key)
		if top := min(req.MaxVersion(), req.ResponseKind().MaxVersion()); r.Max > top {
			t.Errorf("%s is offered up to v%d and can be encoded up to v%d", name, r.Max, top)
		}
		if r.Min > r.Max {
			t.Errorf("%s: v%d to v%d", name, r.Min, r.Max)
		}
	}
	for key := range handlers {
		if _, ok := offered[key]; !ok {
			t.Errorf("%s has a handler and is not offered", kmsg.NameForKey(key))
		}
	}
}

func TestVersionsCheck(t *testing.T) {
	versions := Kafka43()
	for _, test := range []struct {
		why     string
		key     kmsg.Key
		version int16
		ok      bool
	}{
		{"within the range", kmsg.EndTxn, 5, true},
		{"above the range", kmsg.EndTxn, 6, false},
		{"below the range", kmsg.Fetch, 3, false},
		{"negative", kmsg.EndTxn, -1, false},
		{"Produce shows versions that it does not serve (KAFKA-18659)", kmsg.Produce, 2, false},
		{"the first served version of Produce", kmsg.Produce, 3, true},
		{"ApiVersions answers for itself (rule J3)", kmsg.ApiVersions, 99, true},
		{"an API of controllers", kmsg.Vote, 0, false},
		{"no API", 999, 0, false},
	} {
		err := versions.Check(int16(test.key), test.version)
		if (err == nil) != test.ok {
			t.Errorf("%s: %s v%d: %v", test.why, test.key.Name(), test.version, err)
		}
		var unsupported *UnsupportedError
		if err != nil && !errors.As(err, &unsupported) {
			t.Errorf("%s: %T is no *UnsupportedError", test.why, err)
		}
	}
}

// A broker that is made to look older offers what it is told to, and nothing
// else.
func TestNarrowedVersions(t *testing.T) {
	server := NewServer(&Broker{Versions: Versions{
		int16(kmsg.ApiVersions): {0, 3},
		int16(kmsg.EndTxn):      {0, 4},
	}})
	if err := server.Versions().Check(int16(kmsg.EndTxn), 5); err == nil {
		t.Error("EndTxn v5 is served")
	}
	if err := server.Versions().Check(int16(kmsg.Fetch), 12); err == nil {
		t.Error("Fetch is served")
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 4
	server.Handle(ConnInfo{}, req, func(resp kmsg.Response) {
		answer := resp.(*kmsg.ApiVersionsResponse)
		if answer.Version != 0 || answer.ErrorCode != 35 || len(answer.ApiKeys) != 1 || answer.ApiKeys[0].MaxVersion != 3 {
			t.Errorf("ApiVersions v4 where v3 is the newest: %+v", answer)
		}
	})
}
