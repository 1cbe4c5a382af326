package secured

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
)

// forms are the ways in which a secret could be written.
func forms(secret string) []string {
	raw := []byte(secret)
	all := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), hex.EncodeToString(raw), strings.Trim(strconv.Quote(secret), `"`),
		strings.ReplaceAll(secret, "&", `\u0026`), strings.ReplaceAll(secret, "&", "&amp;"), strings.ReplaceAll(secret, "+", "&#43;"),
	}
	// Base64 of a text that has the secret in it depends on where it begins.
	for shift := range 3 {
		padded := append(make([]byte, shift), raw...)
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			encoded := encoding.EncodeToString(padded)
			all = append(all, encoded[(shift*8+5)/6:len(encoded)-1])
		}
	}
	return all
}

// leak is the form in which an output holds a secret; empty if it does not.
func leak(output, secret string) string {
	for _, form := range forms(secret) {
		if strings.Contains(output, form) {
			return form
		}
	}
	return ""
}

// misplaced are sections with a password where an address belongs, by the key
// that has it.
var misplaced = map[string]string{
	"token_url": "  sasl: {mechanism: OAUTHBEARER, oauth: {token_url: 'https://u:${PASSWORD}@sso/t'}}\n",
	"brokers":   "  brokers: ['sasl://u:${PASSWORD}@h:9']\n",
}

// misplace starts the program with each of them, and has it read each while it
// runs.
func (w *world) misplace(t *testing.T) {
	const password = "hush-hush-password"
	w.secrets["password in an address"] = password
	for key, section := range misplaced {
		name := "password in " + key
		path := w.configuration(t, name, "PLAINTEXT", "")
		s := serve(t, nil, "--config.file="+path, "--reload.interval=100ms")
		bad := []byte("kafka:\n" + strings.ReplaceAll(section, "${PASSWORD}", password))
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s.until("the log tells of "+key, func() bool { return strings.Contains(s.log.String(), key) })
		w.keep(name+": log and pages", s.log.String()+s.pages())
		status, output := run(t, nil, "serve", "--config.file="+path)
		if status != 2 || !strings.Contains(output, "<secret>@") {
			t.Errorf("%s: status %d\n%s", name, status, output)
		}
		w.keep(name+": start", output)
	}
}

// search searches all that was kept for all secrets.
func (w *world) search(t *testing.T) {
	t.Helper()
	for _, i := range []struct {
		name   string
		tokens []string
	}{{"issuer", w.issuer.Issued()}, {"issuer of unsigned tokens", w.unsigned.Issued()}, {"other issuer", w.alien.Issued()}} {
		if len(i.tokens) == 0 {
			t.Errorf("the %s was not asked for a token", i.name)
		}
		for n, token := range i.tokens {
			parts := strings.Split(token, ".")
			w.secrets[i.name+" token "+strconv.Itoa(n)] = token
			w.secrets[i.name+" claims "+strconv.Itoa(n)] = parts[1]
		}
	}
	if want := 4*len(rows) + 2*len(misplaced); len(w.outputs) != want {
		t.Errorf("%d outputs to search, want %d", len(w.outputs), want)
	}
	for from, output := range w.outputs {
		if len(output) < 20 {
			t.Errorf("%s: %q is hardly all of it", from, output)
		}
		for what, secret := range w.secrets {
			if form := leak(output, secret); form != "" {
				t.Errorf("%s holds the secret %s, as %s", from, what, form)
			}
		}
	}
}

// The search finds what it looks for.
func TestSearch(t *testing.T) {
	const secret = "pw+/&%~ x 5"
	for _, output := range []string{
		"a " + secret, url.QueryEscape("k=" + secret), hex.EncodeToString([]byte(secret)), strconv.Quote("é" + secret),
		base64.StdEncoding.EncodeToString([]byte("\x00alice\x00" + secret)), base64.StdEncoding.EncodeToString([]byte("exporter:" + secret)),
		base64.URLEncoding.EncodeToString([]byte("ab" + secret + "c")), base64.StdEncoding.EncodeToString([]byte("a" + secret + "cde")),
	} {
		if leak(output, secret) == "" {
			t.Errorf("not found in %s", output)
		}
	}
	if form := leak("a pw+/&%~ x 6 and pw", secret); form != "" {
		t.Errorf("found as %s where it is not", form)
	}
}
