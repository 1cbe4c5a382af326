package wire

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// PrincipalRules are the rules by which the name of a certificate becomes that of
// a principal (ssl.principal.mapping.rules, KIP-371), the first whose pattern
// matches the whole name. What it makes of the name is the name with each match of
// the pattern replaced.
type PrincipalRules []principalRule

type principalRule struct {
	whole *regexp.Regexp // what the name must match; nil stands for DEFAULT: the name as it is
	substitution
	fold string // L, U or nothing
}

// principalRuleForm matches one rule, with the comma after it.
var principalRuleForm = regexp.MustCompile(`^\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)`)

// ParsePrincipalRules reads rules such as RULE:^CN=(.*?),.*$/$1/L,DEFAULT.
func ParsePrincipalRules(text string) (PrincipalRules, error) {
	var rules PrincipalRules
	for rest := text; strings.TrimSpace(rest) != ""; {
		m := principalRuleForm.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("invalid rule: %q; expected DEFAULT or RULE:PATTERN/REPLACEMENT/[LU]", rest)
		}
		rest = rest[len(m[0]):]
		rule := principalRule{substitution: substitution{replacement: m[3]}, fold: m[4]}
		if m[1] == "" {
			var err error
			if rule.pattern, err = regexp.Compile(m[2]); err != nil {
				return nil, fmt.Errorf("invalid rule: %w; patterns are RE2's, without lookaround, back references and possessive repetition", err)
			}
			rule.whole = regexp.MustCompile(`\A(?:` + m[2] + `)\z`)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

var errNoPrincipal = errors.New("no rule applies to the name of the certificate")

// of is the principal of a certificate, in Kafka's form.
func (rules PrincipalRules) of(c *x509.Certificate) (string, error) {
	name, err := distinguishedName(c.RawSubject)
	if err != nil {
		return "", err
	}
	for _, rule := range rules {
		switch {
		case rule.whole == nil:
			return "User:" + name, nil
		case !rule.whole.MatchString(name):
			continue
		}
		mapped, err := rule.replaceAll(name)
		if err != nil {
			return "", err
		}
		switch rule.fold {
		case "L":
			mapped = strings.ToLower(mapped)
		case "U":
			mapped = strings.ToUpper(mapped)
		}
		return "User:" + mapped, nil
	}
	return "", errNoPrincipal
}

// attributeNames are those that RFC 2253, section 2.3, has names for.
var attributeNames = map[string]string{
	"2.5.4.3": "CN", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.6": "C", "2.5.4.9": "STREET",
	"0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
}

// distinguishedName writes a name as RFC 2253 has it and Java's
// X500Principal.getName() writes it: the last part first, attributes without a
// name by number.
func distinguishedName(der []byte) (string, error) {
	var parts pkix.RDNSequence
	if _, err := asn1.Unmarshal(der, &parts); err != nil {
		return "", fmt.Errorf("name of a certificate: %w", err)
	}
	var written []string
	for i := len(parts) - 1; i >= 0; i-- {
		var attributes []string
		for _, a := range parts[i] {
			text, isText := a.Value.(string)
			if name := attributeNames[a.Type.String()]; name != "" && isText {
				attributes = append(attributes, name+"="+escapeValue(text))
				continue
			}
			value, err := asn1.Marshal(a.Value)
			if err != nil {
				return "", fmt.Errorf("name of a certificate: %w", err)
			}
			attributes = append(attributes, a.Type.String()+"=#"+hex.EncodeToString(value))
		}
		written = append(written, strings.Join(attributes, "+"))
	}
	return strings.Join(written, ","), nil
}

// escapeValue puts backslashes where RFC 2253, section 2.4, wants them, and
// before the equals sign, as Java does.
func escapeValue(text string) string {
	var b strings.Builder
	runes := []rune(text)
	blank := func(from, to int) bool { return strings.Trim(string(runes[from:to]), " \r") == "" }
	for i, r := range runes {
		if strings.ContainsRune(`,=+<>#;"\`, r) || (r == ' ' || r == '\r') && (blank(0, i+1) || blank(i, len(runes))) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
