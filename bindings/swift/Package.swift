// swift-tools-version:5.9
import PackageDescription

let package = Package(
  name: "chatparse",
  products: [.library(name: "Chatparse", targets: ["Chatparse"])],
  targets: [
    // The installed C library, found with pkg-config.
    .systemLibrary(name: "CChatparse", pkgConfig: "chatparse"),
    .target(name: "Chatparse", dependencies: ["CChatparse"]),
    .executableTarget(name: "Example", dependencies: ["Chatparse"]),
    .testTarget(name: "ChatparseTests", dependencies: ["Chatparse"]),
  ]
)
