package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	toolkit "github.com/prometheus/exporter-toolkit/web"
)

// Listen listens on addresses, host:port each. Its error names the address;
// then it listens on none of them.
func Listen(addresses []string) ([]net.Listener, error) {
	var listeners []net.Listener
	for _, address := range addresses {
		l, err := net.Listen("tcp", address)
		if err != nil {
			for _, open := range listeners {
				open.Close()
			}
			return nil, fmt.Errorf("listen on %s: %w", address, err)
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// stopTimeout is how long requests may go on after the server was told to stop.
const stopTimeout = 5 * time.Second

// Serve serves handler on listeners until ctx is done; then it lets the
// requests under way finish, for five seconds at most, and returns nil. It
// returns an error when serving fails before that. configFile is a web
// configuration file of Prometheus' exporter toolkit, empty for plain HTTP.
func Serve(ctx context.Context, listeners []net.Listener, handler http.Handler, configFile string, logger *slog.Logger) error {
	// Each listener has a server of its own: the toolkit changes the one that
	// it is given.
	servers := make([]*http.Server, len(listeners))
	failed := make(chan error, len(listeners))
	for i, l := range listeners {
		servers[i] = &http.Server{
			Handler:           handler,
			ReadHeaderTimeout: 10 * time.Second,
			WriteTimeout:      time.Minute,
			IdleTimeout:       2 * time.Minute,
			ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
		}
		go func() {
			err := toolkit.Serve(l, servers[i], &toolkit.FlagConfig{WebConfigFile: &configFile}, logger)
			if errors.Is(err, http.ErrServerClosed) {
				err = nil
			}
			failed <- err
		}()
	}
	var err error
	running := len(listeners)
	select {
	case <-ctx.Done():
	case err = <-failed:
		running--
	}
	stop, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	for i, s := range servers {
		if s.Shutdown(stop) != nil {
			s.Close()
		}
		listeners[i].Close() // where the toolkit failed before it served
	}
	for range running {
		err = errors.Join(err, <-failed)
	}
	return err
}
