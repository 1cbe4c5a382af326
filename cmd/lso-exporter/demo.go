package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"golang.org/x/term"

	"github.com/lso-exporter/lso-exporter/cmd/lso-exporter/demo"
	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/storyline"
	"github.com/lso-exporter/lso-exporter/web"
)

// demoFlags are what can be chosen for a demo besides its cluster.
type demoFlags struct {
	settings *config.Flags
	length   time.Duration
}

// demoAddress is where the demo's pages are, or on a port that the system
// chooses if another program is there.
const demoAddress = "127.0.0.1:10308"

// demoCommand adds the exporter on a simulated cluster with a storyline.
func demoCommand(app *kingpin.Application, p *program) {
	command := app.Command("demo", "Watch a simulated cluster on which everything happens that the exporter tells apart; needs nothing else.")
	cluster := addClusterFlags(command)
	flags := &demoFlags{}
	flags.settings = config.AddFlagsOf(command, map[string]string{
		"web.listen_address": "Addresses for the metrics. Default: " + demoAddress + ", or another port if that one is taken.",
		"sweep.interval":     "Time from one sweep to the next. Default: 1s.",
	})
	durationFlag(command, "for", "How long to run. Default: until told to stop.", &flags.length, 0, 24*time.Hour)
	command.Action(func(*kingpin.ParseContext) error {
		s, err := cluster.settings(storyline.Properties(cluster.brokers))
		if err != nil {
			return err
		}
		c, err := flags.config()
		if err != nil {
			return err
		}
		return failed(p.demo(s, c, flags))
	})
}

// config is the exporter's configuration, but for the brokers' addresses, which
// are not known yet.
func (f *demoFlags) config() (config.Config, error) {
	loaded, err := config.Load(config.Sources{Flags: f.settings, Environment: []string{
		"LSO_EXPORTER_KAFKA_BROKERS=127.0.0.1:9092",
		"LSO_EXPORTER_CLUSTER=demo",
		"LSO_EXPORTER_LOG_LEVEL=error",
		"LSO_EXPORTER_SWEEP_INTERVAL=1s",
		"LSO_EXPORTER_WEB_LISTEN_ADDRESS=" + demoAddress,
		"LSO_EXPORTER_GROUPS_STILL_AFTER=15s", // the storyline is a quick one
		"LSO_EXPORTER_TRANSACTIONS_LOOK_UP_AFTER=5s",
		"LSO_EXPORTER_COLLECTORS_TXNLOG=true",
	}})
	if err != nil {
		return config.Config{}, err
	}
	c, err := loaded.Validated()
	// Here no other cluster's coordinators are asked, and a minute is long.
	c.Transactions.CensusInterval = 5 * time.Second
	return c, err
}

// demo runs cluster, storyline and exporter until the process is told to stop
// or the time is over.
func (p *program) demo(s clusterSettings, c config.Config, flags *demoFlags) (err error) {
	ctx := p.stop
	if flags.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, flags.length)
		defer cancel()
	}
	listeners, err := listenForDemo(c.Web.ListenAddresses)
	if err != nil {
		return err
	}
	cluster, err := simbroker.Start(s.cluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()

	c.Kafka.Brokers = cluster.Bootstrap()
	e, err := newExporter(c, nil, newLogger(p.stderr, c.Log))
	if err != nil {
		return err
	}
	header := demoHeader(listeners[0].Addr(), cluster.Bootstrap(), s.scenario == nil)
	size := terminalSize(p.stdout)
	if size == nil {
		for _, line := range append(append(header.Where, ""), header.Story...) {
			fmt.Fprintln(p.stdout, line)
		}
	}
	table := demo.NewTable(p.stdout, size, header)
	var unshown error
	e.seen = func(v *lag.View) { unshown = errors.Join(unshown, table.Show(v)) }

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	var untold error
	running.Go(func() {
		defer func() {
			if untold != nil {
				cancel()
			}
		}()
		if s.scenario != nil {
			untold = p.play(ctx, s.scenario, cluster, s.cluster.Features)
			return
		}
		untold = demo.Play(ctx, cluster)
	})
	err = e.run(ctx, listeners, nil)
	cancel()
	running.Wait()
	if size != nil {
		fmt.Fprintln(p.stdout) // after the terminal's own ^C
	}
	return errors.Join(err, untold, unshown)
}

// listenForDemo listens on addresses, or near the usual one if that is taken.
func listenForDemo(addresses []string) ([]net.Listener, error) {
	listeners, err := web.Listen(addresses)
	if err != nil && slices.Equal(addresses, []string{demoAddress}) {
		return web.Listen([]string{"127.0.0.1:0"})
	}
	return listeners, err
}

// demoHeader says where things are and what there is to see.
func demoHeader(pages net.Addr, bootstrap []string, told bool) demo.Header {
	header := demo.Header{Where: []string{
		fmt.Sprintf("status   http://%s/", pages),
		fmt.Sprintf("metrics  http://%s/metrics", pages),
		"brokers  " + strings.Join(bootstrap, ","),
	}}
	if told {
		for _, c := range storyline.Chapters {
			header.Story = append(header.Story, fmt.Sprintf("%-9s %s", c.Topic, c.Text))
		}
	}
	return header
}

// terminalSize returns what tells the size of a terminal, 0 where it is not
// known; nil if w is none.
func terminalSize(w io.Writer) func() (width, height int) {
	if !isTerminal(w) {
		return nil
	}
	descriptor := int(w.(*os.File).Fd())
	return func() (int, int) {
		width, height, err := term.GetSize(descriptor)
		if err != nil {
			return 0, 0
		}
		return width, height
	}
}
