/** Draws the icons of the installed app from the seal: `sh bin/run tools/icons.ts`. Needs sharp, which the app does not. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'

const place = join(import.meta.dirname, '../web/public')
const seal = readFileSync(join(place, 'seal.svg'), 'utf8')
const mark = seal.slice(seal.indexOf('<g'), seal.indexOf('</svg>'))
/** Systems cut it to any shape: the mark stays in the inner circle of 80 % (W3C Web Application Manifest, 4.6). */
const maskable = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" fill="#b5371f"/><g transform="translate(4.8 4.2) scale(.7)">${mark}</g></svg>`

const icons = [
  ['192.png', seal, 192],
  ['512.png', seal, 512],
  ['maskable-512.png', maskable, 512],
  ['apple-180.png', maskable, 180],
] as const
for (const [name, svg, size] of icons)
  await sharp(Buffer.from(svg), { density: (72 * size) / 32 })
    .resize(size, size)
    .png({ compressionLevel: 9, palette: true })
    .toFile(join(place, 'icons', name))
