import { readFileSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Plugin } from 'vite'

/** pdf.js resources: character maps, standard fonts, and image decoders. */
const PARTS: Record<string, RegExp> = {
  cmaps: /\.bcmap$/,
  standard_fonts: /\.(pfb|ttf)$/,
  wasm: /^(jbig2|openjpeg)\.wasm$/,
}

export function pdfParts(): Plugin {
  return {
    name: 'pdf-parts',
    apply: 'build',
    generateBundle() {
      const manifest = createRequire(import.meta.url).resolve('pdfjs-dist/package.json')
      const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }
      for (const [folder, wanted] of Object.entries(PARTS)) {
        const from = join(dirname(manifest), folder)
        for (const name of readdirSync(from).filter((one) => wanted.test(one)))
          this.emitFile({
            type: 'asset',
            fileName: `assets/pdf-${version}/${folder}/${name}`,
            source: readFileSync(join(from, name)),
          })
      }
    },
  }
}
