package collector

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// oldBroker listens on loopback as a broker that speaks Metadata, and
// OffsetFetch only in versions that know one group a request. It returns its
// address.
func oldBroker(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	number, _ := strconv.Atoi(port)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for r := bufio.NewReader(conn); ; {
					if err := serveOne(r, conn, host, int32(number)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// serveOne reads a request and answers it.
func serveOne(r io.Reader, w io.Writer, host string, port int32) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r, frame); err != nil {
		return err
	}
	header := kbin.Reader{Src: frame}
	key, version, correlation := header.Int16(), header.Int16(), header.Int32()
	var resp kmsg.Response
	switch key {
	case kmsg.ApiVersions.Int16():
		answer := kmsg.NewPtrApiVersionsResponse()
		answer.ApiKeys = []kmsg.ApiVersionsResponseApiKey{
			{ApiKey: kmsg.Produce.Int16(), MaxVersion: 8}, // without it franz-go takes the list for none
			{ApiKey: kmsg.ApiVersions.Int16(), MaxVersion: 2},
			{ApiKey: kmsg.Metadata.Int16(), MaxVersion: 8},
			{ApiKey: kmsg.OffsetFetch.Int16(), MaxVersion: 7},
		}
		if version > 2 {
			answer.ErrorCode, version = 35, 0
		}
		resp = answer
	case kmsg.Metadata.Int16():
		answer := kmsg.NewPtrMetadataResponse()
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Host, b.Port = 7, host, port
		answer.Brokers = append(answer.Brokers, b)
		resp = answer
	default:
		return errors.New("this request should not have been sent")
	}
	resp.SetVersion(version)
	body := resp.AppendTo(binary.BigEndian.AppendUint32(nil, uint32(correlation)))
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	return err
}

func TestAPIsThatABrokerLacks(t *testing.T) {
	k, err := NewKafka(kgo.SeedBrokers(oldBroker(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if _, err := k.Request(t.Context(), 7, kmsg.NewPtrListGroupsRequest()); err == nil || errors.Is(err, ErrAPIMissing) {
		t.Errorf("a broker that nobody listed: error %v", err)
	}
	resp, err := k.Request(t.Context(), k.Seeds()[0], kmsg.NewPtrMetadataRequest())
	if err != nil {
		t.Fatal(err)
	}
	if got := resp.GetVersion(); got != 8 {
		t.Errorf("Metadata version %d, want the broker's 8", got)
	}
	for _, req := range []kmsg.Request{
		kmsg.NewPtrConsumerGroupDescribeRequest(), // the broker does not know it
		kmsg.NewPtrListOffsetsRequest(),           // the broker's versions are too old
		kmsg.NewPtrCreateTopicsRequest(),          // a sweep never sends it
	} {
		if _, err := k.Request(t.Context(), 7, req); !errors.Is(err, ErrAPIMissing) {
			t.Errorf("%s: error %v, want one that matches ErrAPIMissing", kmsg.NameForKey(req.Key()), err)
		}
	}
}

func TestVersionsOfInProcessRequests(t *testing.T) {
	lowest, highest := limits()
	for _, a := range apis {
		req := a.key.Request()
		newest(req)
		low, _ := lowest.LookupMaxKeyVersion(a.key.Int16())
		high, _ := highest.LookupMaxKeyVersion(a.key.Int16())
		if req.GetVersion() != a.max || low != a.min || high != a.max || a.max > req.MaxVersion() {
			t.Errorf("%s: version %d between %d and %d, want %d between %d and %d, kmsg knows %d",
				a.key.Name(), req.GetVersion(), low, high, a.max, a.min, a.max, req.MaxVersion())
		}
	}
}

func TestClosedClientFails(t *testing.T) {
	k, err := NewKafka(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	k.Close()
	if _, err := k.Request(t.Context(), k.Seeds()[0], kmsg.NewPtrMetadataRequest()); !errors.Is(err, kgo.ErrClientClosed) {
		t.Errorf("error %v", err)
	}
}
