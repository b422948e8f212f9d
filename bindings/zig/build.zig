const std = @import("std");

// zig build run -Dprefix=/usr/local
pub fn build(b: *std.Build) void {
    const target = b.standardTargetOptions(.{});
    const optimize = b.standardOptimizeOption(.{});
    const prefix = b.option([]const u8, "prefix", "Where the C library is installed") orelse "/usr/local";
    const include: std.Build.LazyPath = .{ .cwd_relative = b.pathJoin(&.{ prefix, "include" }) };
    const lib: std.Build.LazyPath = .{ .cwd_relative = b.pathJoin(&.{ prefix, "lib" }) };

    // The C header as a module.
    const header = b.addTranslateC(.{
        .root_source_file = b.path("c.h"),
        .target = target,
        .optimize = optimize,
    });
    header.addIncludePath(include);

    const chatparse = b.addModule("chatparse", .{
        .root_source_file = b.path("chatparse.zig"),
        .target = target,
        .optimize = optimize,
        .link_libc = true,
        .imports = &.{.{ .name = "c", .module = header.createModule() }},
    });
    chatparse.addLibraryPath(lib);
    chatparse.addRPath(lib);
    chatparse.linkSystemLibrary("chatparse", .{ .use_pkg_config = .no });

    const example = b.addExecutable(.{
        .name = "example",
        .root_module = b.createModule(.{
            .root_source_file = b.path("example.zig"),
            .target = target,
            .optimize = optimize,
            .imports = &.{.{ .name = "chatparse", .module = chatparse }},
        }),
    });
    b.installArtifact(example);
    b.step("run", "Run the example").dependOn(&b.addRunArtifact(example).step);

    const tests = b.addTest(.{ .root_module = chatparse });
    b.step("test", "Test the wrapper").dependOn(&b.addRunArtifact(tests).step);
}
