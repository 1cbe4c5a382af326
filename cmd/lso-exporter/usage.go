package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/lso-exporter/lso-exporter/config"
)

// A checked is a flag whose mistakes are told in the words that configuration
// has for its own.
type checked struct {
	flag string
	set  func(text string) error // its error words fault and remedy
	many bool                    // the flag may be repeated
}

// Set implements kingpin.Value.
func (c checked) Set(text string) error {
	if err := c.set(text); err != nil {
		return &mistake{config.OnCommandLine("--"+c.flag, text, err.Error())}
	}
	return nil
}

// String is what kingpin shows as the value; the help text has the default.
func (c checked) String() string { return "" }

// IsCumulative makes kingpin accept the flag several times.
func (c checked) IsCumulative() bool { return c.many }

func numberFlag(command *kingpin.CmdClause, flag, help string, value *int, least, most int) {
	command.Flag(flag, help).PlaceHolder("NUMBER").SetValue(checked{flag: flag, set: func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return fmt.Errorf("is no number from %d to %d; write one", least, most)
		}
		*value = n
		return nil
	}})
}

func durationFlag(command *kingpin.CmdClause, flag, help string, value *time.Duration, least, most time.Duration) *kingpin.FlagClause {
	clause := command.Flag(flag, help).PlaceHolder("DURATION")
	clause.SetValue(checked{flag: flag, set: func(text string) (err error) {
		*value, err = config.ParseDuration(text, least, most)
		return err
	}})
	return clause
}

func choiceFlag(command *kingpin.CmdClause, flag, help string, value *string, options ...string) {
	command.Flag(flag, help).PlaceHolder(strings.ToUpper(flag)).SetValue(checked{flag: flag, set: func(text string) error {
		*value = text
		return config.CheckChoice(text, options...)
	}})
}

// addressFlag adds a flag for an address to listen on.
func addressFlag(command *kingpin.CmdClause, flag, help string, value *string) {
	command.Flag(flag, help).PlaceHolder("HOST:PORT").SetValue(checked{flag: flag, set: func(text string) error {
		*value = text
		return config.CheckListenAddress(text)
	}})
}

// What kingpin says of command lines that it cannot read.
var (
	unknownFlag    = regexp.MustCompile(`^unknown (?:long|short) flag '(-.*)'$`)
	flagAlone      = regexp.MustCompile(`^expected argument for flag '(--.*)'$`)
	flagTwice      = regexp.MustCompile(`^flag '(.*)' cannot be repeated$`)
	unknownWord    = regexp.MustCompile(`^(?:expected command but got "(.*)"|unexpected (?:argument )?'?(.*?)'?)$`)
	argumentsFile  = regexp.MustCompile(`^failed to (?:open arguments file|read arguments from) "(.*?)": (.*)$`)
	argumentNeeded = regexp.MustCompile(`^required argument '(.*)' not provided$`)
	commandNeeded  = regexp.MustCompile(`^must select a subcommand of '(.*)'$`)
)

// commandLineProblem words what is wrong with a command line, of which kingpin
// says err once it had selected command.
func commandLineProblem(app *kingpin.ApplicationModel, command *kingpin.CmdModel, arguments []string, err error) error {
	if command == nil {
		command = &kingpin.CmdModel{FlagGroupModel: &kingpin.FlagGroupModel{}, CmdGroupModel: app.CmdGroupModel}
	}
	see := "; see " + strings.TrimSpace("lso-exporter "+command.FullCommand) + " --help"
	text := err.Error()
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		flag, value := written(arguments, m[1])
		var names []string
		for _, f := range append(command.Flags, app.Flags...) {
			if names = append(names, f.Name); f.IsBoolFlag() {
				names = append(names, "no-"+f.Name)
			}
		}
		remedy := config.Suggestion(strings.TrimLeft(flag, "-"), names, "--")
		if remedy == "" {
			remedy = see
		}
		return config.OnCommandLine(flag, config.Shown(flag+remedy, value), "is an unknown flag; remove it"+remedy)
	}
	if m := flagAlone.FindStringSubmatch(text); m != nil {
		return config.OnCommandLine(m[1], "", fmt.Sprintf("has no value; write %s=VALUE", m[1]))
	}
	if m := flagTwice.FindStringSubmatch(text); m != nil {
		return config.OnCommandLine("--"+m[1], "", "stands there twice; remove one of the two")
	}
	if m := argumentsFile.FindStringSubmatch(text); m != nil {
		return config.OnCommandLine("", "@"+m[1], fmt.Sprintf("names a file of arguments that cannot be read (%s); name one that can, or leave out the @", m[2]))
	}
	if m := argumentNeeded.FindStringSubmatch(text); m != nil {
		return config.OnCommandLine("", command.FullCommand, "needs words after it; write at least one "+strings.ToUpper(m[1])+see)
	}
	if m := commandNeeded.FindStringSubmatch(text); m != nil {
		return config.OnCommandLine("", m[1], "needs a command after it; write one of "+strings.Join(names(command.CmdGroupModel), ", "))
	}
	if m := unknownWord.FindStringSubmatch(text); m != nil {
		return wordProblem(app, command, arguments, m[1]+m[2], see)
	}
	return errors.New("command line: " + text + see)
}

// wordProblem words what is wrong with a word that is neither flag nor value.
func wordProblem(app *kingpin.ApplicationModel, command *kingpin.CmdModel, arguments []string, word, see string) error {
	for _, f := range command.Flags {
		if _, value := written(arguments, "--"+f.Name); f.IsBoolFlag() && value == word && value != "" {
			return config.OnCommandLine("--"+f.Name, value, fmt.Sprintf("is a switch without a value; write --%s or --no-%s", f.Name, f.Name))
		}
	}
	if word == "" {
		return config.OnCommandLine("", " ", "is an empty word; remove it, or give a variable in it a value"+see)
	}
	commands, at := names(command.CmdGroupModel), 1
	if len(commands) == 0 || arguments[0] == word {
		commands, at = names(app.CmdGroupModel), 0
	}
	switch {
	case config.CheckChoice(word, commands...) == nil:
		return config.OnCommandLine("", word, "stands after a flag or another command; write the command first")
	case slices.Index(arguments, word) == at:
		remedy := config.Suggestion(word, commands, "")
		if remedy == "" {
			remedy = "; write one of " + strings.Join(commands, ", ")
		}
		return config.OnCommandLine("", word, "is no command"+remedy)
	}
	return config.OnCommandLine("", word, "belongs to no flag; remove it, or write it as --FLAG=VALUE"+see)
}

// helpCommand is kingpin's own.
const helpCommand = "help"

// names are the commands of a group.
func names(group *kingpin.CmdGroupModel) (all []string) {
	for _, c := range group.Commands {
		if c.Name != helpCommand {
			all = append(all, c.Name)
		}
	}
	return all
}

// written finds a flag as it stands among the arguments, with its value if that
// is in the same word. Of a flag with one dash kingpin knows the first letter
// only.
func written(arguments []string, flag string) (name, value string) {
	for _, argument := range arguments {
		name, value, _ = strings.Cut(argument, "=")
		if name == flag || !strings.HasPrefix(flag, "--") && !strings.HasPrefix(name, "--") && strings.HasPrefix(name, flag) {
			return name, value
		}
	}
	return flag, ""
}
