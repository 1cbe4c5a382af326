package scenario

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Control are the faults of a cluster that "lso-exporter sim" runs, through the
// control surface at URL: http://HOST:PORT.
type Control struct{ URL string }

var _ Faults = Control{}

// Pause implements Faults.
func (c Control) Pause(ctx context.Context, broker int32) error { return c.act(ctx, broker, "pause") }

// Resume implements Faults.
func (c Control) Resume(ctx context.Context, broker int32) error {
	return c.act(ctx, broker, "resume")
}

// Kill implements Faults.
func (c Control) Kill(ctx context.Context, broker int32) error { return c.act(ctx, broker, "kill") }

// Stop implements Faults.
func (c Control) Stop(ctx context.Context, broker int32) error { return c.act(ctx, broker, "stop") }

// Start implements Faults.
func (c Control) Start(ctx context.Context, broker int32) error { return c.act(ctx, broker, "start") }

func (c Control) act(ctx context.Context, broker int32, act string) error {
	url := fmt.Sprintf("%s/brokers/%d/%s", strings.TrimSuffix(c.URL, "/"), broker, act)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1000)) // what there is of it
		return fmt.Errorf("%s broker %d: %s: %s", act, broker, resp.Status, strings.TrimSpace(string(body)))
	}
	return nil
}
