package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/control"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// simCommand adds the simulated cluster without an exporter, for other clients.
func simCommand(app *kingpin.Application, p *program) {
	command := app.Command("sim", "Run a simulated Kafka cluster until told to stop; its first line of output are its bootstrap addresses.")
	flags := addClusterFlags(command)
	addOfferFlags(command, flags)
	var controlAddress string
	addressFlag(command, "control.listen-address", "Address of the control surface (brokers, faults, clock, state; see docs/simulator.md); loopback only. Without it there is none.", &controlAddress)
	users := command.Flag("add-scram", "A SCRAM user, as kafka-storage.sh takes it. May be repeated.").
		PlaceHolder("MECHANISM=[name=NAME,password=PASSWORD]").Strings()
	command.Action(func(*kingpin.ParseContext) error {
		s, err := flags.settings(nil)
		if err != nil {
			return err
		}
		for _, text := range *users {
			user, err := sasl.ParseNewUser(text)
			if err != nil {
				return &mistake{fmt.Errorf("command line: --add-scram: %w", err)}
			}
			s.cluster.Users = append(s.cluster.Users, user)
		}
		s.cluster.Seed = rand.Uint64() // each is a cluster of its own, with its own ids
		return failed(p.sim(s, controlAddress))
	})
}

// sim runs a cluster until the process is told to stop.
func (p *program) sim(s clusterSettings, controlAddress string) error {
	logger := newLogger(p.stderr, config.Log{Level: "info", Format: "text"})
	var surface net.Listener
	if controlAddress != "" {
		var err error
		switch surface, err = control.Listen(controlAddress); {
		case errors.Is(err, control.ErrNotLoopback):
			return &mistake{config.OnCommandLine("--control.listen-address", controlAddress, "is not a loopback address, and anybody could use what has no authentication; write 127.0.0.1, [::1] or localhost")}
		case err != nil:
			return err
		}
		defer surface.Close()
	}
	s.cluster.Log = func(line string) { logger.Info().Msg(line) }
	cluster, err := simbroker.Start(s.cluster)
	if err != nil {
		return err
	}
	fmt.Fprintln(p.stdout, strings.Join(cluster.Bootstrap(), ","))
	for _, listener := range cluster.Listeners()[1:] {
		fmt.Fprintf(p.stdout, "listener %s on %s\n", listener, strings.Join(cluster.BootstrapOf(listener), ","))
	}
	if surface != nil {
		fmt.Fprintf(p.stdout, "control surface on http://%s\n", surface.Addr())
		server := &http.Server{Handler: control.Handler(cluster), BaseContext: func(net.Listener) context.Context { return p.stop }}
		go func() {
			if err := server.Serve(surface); !errors.Is(err, http.ErrServerClosed) {
				logger.Error().Err(err).Msg("control surface")
			}
		}()
		defer server.Close()
	}
	if s.scenario != nil {
		if err := p.play(p.stop, s.scenario, cluster, s.cluster.Features); err != nil {
			return errors.Join(err, cluster.Close())
		}
	}
	<-p.stop.Done()
	return cluster.Close()
}
