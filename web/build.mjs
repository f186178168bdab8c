// Bundles src/ into dist/report.html, the page that layline fills with a report's data.
import { build } from "esbuild";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const bundle = async (entry) =>
  (await build({ entryPoints: [entry], bundle: true, minify: true, write: false, format: "iife" }))
    .outputFiles[0].text.trim();

const page = readFileSync("src/page.html", "utf8")
  .replace("/* STYLE */", () => "\n" + readFileSync("src/style.css", "utf8"))
  // Within a script element nothing may look like the end of it.
  .replace("/* SCRIPT */", "@SCRIPT@");
const script = (await bundle("src/main.js")).replaceAll("</script", "<\\/script");
mkdirSync("dist", { recursive: true });
writeFileSync("dist/report.html", page.replace("@SCRIPT@", () => script));
