import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.apache.kafka.common.utils.Exit;

/**
 * Runs main methods one after the other, in one virtual machine, which saves the start
 * of one for each.
 *
 * <p>Reads a line for each run: the class, its arguments and, behind an empty field, the
 * lines of its standard input, all separated by tabs. Answers with what the program has
 * printed and a line of a NUL and its exit status.
 */
final class Shell {
    /** Takes the place of the end of the process. */
    private static final class Exited extends RuntimeException {
        Exited() {
            super(null, null, false, false);
        }
    }

    /** The status that the program has ended with, or null. */
    private static Integer ended;

    /** What the program wants done at its end. */
    private static final List<Runnable> HOOKS = new ArrayList<>();

    /** What a program does that goes on, because it catches what ends it, is neither seen nor heard. */
    private static void end(int status) {
        if (ended == null) {
            ended = status;
            PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream());
            System.setOut(nowhere);
            System.setErr(nowhere);
        }
        throw new Exited();
    }

    public static void main(String[] args) throws Exception {
        Exit.setExitProcedure((status, message) -> end(status));
        Exit.setHaltProcedure((status, message) -> end(status));
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        PrintStream out = System.out;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            int status = run(line, new PrintStream(printed, true, StandardCharsets.UTF_8));
            out.write(printed.toByteArray());
            if (printed.size() > 0 && !printed.toString(StandardCharsets.UTF_8).endsWith("\n")) {
                out.println();
            }
            out.println("\0" + status);
            out.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    /** Runs a program and what it wants done at its end: the console producer sends only then what it has collected. */
    private static int run(String line, PrintStream printed) throws InterruptedException {
        HOOKS.clear();
        int status = runMain(line, printed);
        System.setOut(printed);
        System.setErr(printed);
        List<Thread> hooks = HOOKS.stream().map(Thread::new).toList();
        hooks.forEach(Thread::start);
        for (Thread hook : hooks) {
            hook.join();
        }
        return status;
    }

    private static int runMain(String line, PrintStream printed) {
        String[] fields = line.split("\t", -1);
        int input = Arrays.asList(fields).indexOf("");
        String[] arguments = Arrays.copyOfRange(fields, 1, input < 0 ? fields.length : input);
        String given = "";
        if (input >= 0) {
            given = String.join("\n", Arrays.copyOfRange(fields, input + 1, fields.length)) + "\n";
        }
        System.setIn(new ByteArrayInputStream(given.getBytes(StandardCharsets.UTF_8)));
        System.setOut(printed);
        System.setErr(printed);
        ended = null;
        try {
            Class.forName(fields[0]).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return ended == null ? 0 : ended;
        } catch (InvocationTargetException e) {
            if (ended != null) {
                return ended;
            }
            printed.println("uncaught: " + e.getCause());
            if (System.getenv("LSO_JAVA_TRACES") != null) {
                e.getCause().printStackTrace(printed);
            }
            return 1;
        } catch (ReflectiveOperationException e) {
            printed.println(e);
            return 127;
        }
    }
}
