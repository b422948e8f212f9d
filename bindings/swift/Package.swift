// swift-tools-version:6.0
import PackageDescription

let package = Package(
  name: "chatparse",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [.library(name: "Chatparse", targets: ["Chatparse"])],
  targets: [
    // The installed C library, found with pkg-config.
    .systemLibrary(name: "CChatparse", pkgConfig: "chatparse"),
    .target(name: "Chatparse", dependencies: ["CChatparse"]),
    .executableTarget(name: "Example", dependencies: ["Chatparse"]),
    .testTarget(name: "ChatparseTests", dependencies: ["Chatparse"]),
  ]
)
