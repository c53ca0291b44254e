{
  description = "One MCP server and two commands for people who run several Claude Code sessions";

  # There is no flake.lock in the repository: `nix flake lock` makes one against your nixpkgs. What is used of nixpkgs is
  # little on purpose: the Python package builder, its packages for our dependencies, mkShell.
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});

      # The one place where the version stands.
      version = builtins.head (
        builtins.match ".*__version__ = \"([^\"]+)\".*" (builtins.readFile ./src/agent_ways/__init__.py)
      );

      suite =
        pkgs:
        pkgs.python3Packages.buildPythonApplication {
          pname = "agent-ways";
          inherit version;
          src = self;
          pyproject = true;
          build-system = [ pkgs.python3Packages.hatchling ];
          dependencies = [
            pkgs.python3Packages.click
            pkgs.python3Packages.pydantic
            pkgs.python3Packages.rich
            pkgs.python3Packages.tomlkit
          ];
          pythonImportsCheck = [ "agent_ways" ];
          meta = {
            description = "One MCP server and two commands for people who run several Claude Code sessions";
            mainProgram = "ways";
          };
        };

      program = pkgs: name: {
        type = "app";
        program = "${self.packages.${pkgs.system}.default}/bin/${name}";
      };
    in
    {
      packages = each (pkgs: rec {
        agent-ways = suite pkgs;
        default = agent-ways;
      });

      apps = each (pkgs: rec {
        ways = program pkgs "ways";
        attend = program pkgs "attend";
        ways-mcp = program pkgs "ways-mcp";
        default = ways;
      });

      devShells = each (pkgs: {
        default = pkgs.mkShell {
          packages = [
            pkgs.python3
            pkgs.git
            pkgs.gnumake
          ];
        };
      });

      checks = each (pkgs: {
        starts = pkgs.runCommand "agent-ways-starts" { } ''
          for command in ways attend ways-mcp; do
            test "$(${self.packages.${pkgs.system}.default}/bin/$command --version)" = "$command ${version}"
          done
          touch $out
        '';
      });
    };
}
