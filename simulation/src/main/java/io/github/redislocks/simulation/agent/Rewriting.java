package io.github.redislocks.simulation.agent;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.FieldModel;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.FieldInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.AccessFlag;
import java.util.HashSet;
import java.util.Set;

/** Changes the bytes of one class. */
final class Rewriting {

    private static final String LIBRARY = "io/github/redislocks/";
    private static final ClassDesc SIMULATED = ClassDesc.of("io.github.redislocks.simulation.boot.Simulated");
    private static final MethodTypeDesc TO_LONG = MethodTypeDesc.of(ConstantDescs.CD_long);
    private static final MethodTypeDesc TO_VOID = MethodTypeDesc.of(ConstantDescs.CD_void);
    private static final MethodTypeDesc INT_TO_VOID = MethodTypeDesc.of(ConstantDescs.CD_void, ConstantDescs.CD_int);
    /**
     * Methods without preemption points: their callers may hold a monitor of the JDK, and no order of threads depends
     * on them.
     */
    private static final Set<String> WITHOUT_POINTS = Set.of("<clinit>", "toString", "equals", "hashCode", "compareTo");

    private final String name;
    private final boolean library;
    private final boolean points;
    private final Set<String> volatiles = new HashSet<>();

    private Rewriting(String name, boolean library) {
        this.name = name;
        this.library = library;
        // No points in the server, which is one thread.
        this.points = library && !name.startsWith(LIBRARY + "testkit/");
    }

    static boolean isLibrary(String name) {
        return name.startsWith(LIBRARY) && !name.startsWith(LIBRARY + "simulation/");
    }

    static byte[] rewrite(String name, boolean library, byte[] bytes) {
        return new Rewriting(name, library).rewrite(bytes);
    }

    static void warmUp() {
        try (InputStream own = Rewriting.class.getResourceAsStream("Rewriting.class")) {
            new Rewriting(LIBRARY + "testkit/", true).rewrite(own.readAllBytes());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private byte[] rewrite(byte[] bytes) {
        ClassFile file = ClassFile.of(ClassFile.DebugElementsOption.PASS_DEBUG);
        ClassModel model = file.parse(bytes);
        for (FieldModel field : model.fields()) {
            if (field.flags().has(AccessFlag.VOLATILE)) {
                volatiles.add(field.fieldName().stringValue());
            }
        }
        CodeTransform withPoints = (builder, element) -> change(points, builder, element);
        CodeTransform withoutPoints = (builder, element) -> change(false, builder, element);
        return file.transformClass(model, (builder, element) -> {
            if (element instanceof MethodModel method && method.code().isPresent()) {
                boolean without = WITHOUT_POINTS.contains(method.methodName().stringValue());
                builder.transformMethod(method, MethodTransform.transformingCode(without ? withoutPoints : withPoints));
            } else {
                builder.with(element);
            }
        });
    }

    private void change(boolean points, CodeBuilder builder, CodeElement element) {
        if (element instanceof InvokeInstruction call) {
            String owner = call.owner().asInternalName();
            String method = call.name().stringValue();
            if (replace(builder, call, owner, method)) {
                return;
            }
            if (library && holdsMonitor(owner, method)) {
                builder.invokestatic(SIMULATED, "mask", TO_VOID);
                builder.with(element);
                builder.invokestatic(SIMULATED, "unmask", TO_VOID);
                return;
            }
            if (points && isMeeting(owner, method)) {
                point(builder);
            }
        } else if (points && element instanceof FieldInstruction field && isVolatile(field)) {
            point(builder);
        }
        builder.with(element);
    }

    private void point(CodeBuilder builder) {
        builder.loadConstant(Places.of(name));
        builder.invokestatic(SIMULATED, "point", INT_TO_VOID);
    }

    private boolean isVolatile(FieldInstruction field) {
        // Static fields do not count: they are caches that another schedule may have filled.
        return (field.opcode() == Opcode.GETFIELD || field.opcode() == Opcode.PUTFIELD)
                && field.owner().asInternalName().equals(name)
                && volatiles.contains(field.name().stringValue());
    }

    private boolean replace(CodeBuilder builder, InvokeInstruction call, String owner, String method) {
        if (owner.equals("java/lang/System") && (method.equals("nanoTime") || method.equals("currentTimeMillis"))) {
            builder.invokestatic(SIMULATED, method, TO_LONG);
        } else if (!library) {
            return false;
        } else if (owner.equals("java/lang/Thread") && method.equals("onSpinWait")) {
            builder.invokestatic(SIMULATED, "spin", TO_VOID);
        } else if (name.equals(LIBRARY + "concurrent/Threads") && owner.endsWith("/VirtualThreads")) {
            builder.invokestatic(SIMULATED, "isVirtual", call.typeSymbol());
        } else if (owner.equals("java/security/SecureRandom") && method.equals("nextLong")) {
            builder.invokestatic(SIMULATED, "nextLong", on(owner, ConstantDescs.CD_long));
        } else if (owner.equals("java/lang/ProcessHandle") && method.equals("pid")) {
            builder.invokestatic(SIMULATED, "pid", on(owner, ConstantDescs.CD_long));
        } else {
            return false;
        }
        return true;
    }

    private static MethodTypeDesc on(String owner, ClassDesc result) {
        return MethodTypeDesc.of(result, ClassDesc.ofInternalName(owner));
    }

    /** Whether this method calls functions of the library while it holds a map's monitor. */
    private static boolean holdsMonitor(String owner, String method) {
        return method.startsWith("compute")
                || method.equals("removeIf")
                || method.equals("putIfAbsent")
                || method.equals("remove") && owner.endsWith("ConcurrentMap")
                || method.equals("merge") && owner.contains("Map")
                || method.equals("get") && owner.endsWith("caffeine/cache/Cache");
    }

    /** Whether threads may meet in this method. */
    private static boolean isMeeting(String owner, String method) {
        return owner.startsWith("java/util/concurrent/atomic/") && !method.equals("<init>")
                || owner.equals("java/lang/invoke/VarHandle")
                || owner.equals("java/util/concurrent/locks/LockSupport")
                || owner.equals("java/util/concurrent/locks/ReentrantLock") && !method.equals("<init>")
                || owner.equals("java/util/concurrent/ConcurrentMap")
                || owner.equals("java/util/concurrent/ConcurrentHashMap")
                || owner.equals("java/util/concurrent/ConcurrentLinkedQueue")
                || owner.equals("com/github/benmanes/caffeine/cache/Cache");
    }
}
