# Stands in for nixpkgs, so that our flake can be evaluated without a network. It is strict: what our flake does not
# give, or gives and nobody asked for, fails.
{
  outputs =
    { self }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      named = make: names: builtins.listToAttrs (map (name: { inherit name; value = make name; }) names);
    in
    {
      lib.genAttrs = names: make: named make names;
      legacyPackages = named (
        system:
        let
          made =
            name:
            derivation {
              inherit name system;
              builder = "/bin/sh";
              args = [ "-c" "mkdir -p $out/bin" ];
            };
        in
        {
          inherit system;
          python3 = made "python3";
          git = made "git";
          gnumake = made "gnumake";
          mkShell = { packages }: assert builtins.all (package: package ? outPath) packages; made "shell";
          runCommand = name: env: text: assert env == { } && builtins.isString text; made name;
          python3Packages = named made [ "hatchling" "click" "pydantic" "rich" "tomlkit" ] // {
            buildPythonApplication =
              { pname, version, src, pyproject, build-system, dependencies, pythonImportsCheck, meta }:
              assert pyproject && builtins.all (package: package ? outPath) (build-system ++ dependencies);
              assert meta ? description && meta ? mainProgram && pythonImportsCheck != [ ] && src ? outPath;
              made "${pname}-${version}";
          };
        }
      ) systems;
    };
}
