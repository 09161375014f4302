/** Measures the load size of the app's pages and writes it to docs/app.md: `sh bin/run test/web/shell/sizes-in-docs.ts`. */
import { writeInDocs } from '../in-docs.ts'
import { sizesOfApp } from './sizes.ts'

const { pages, parts, diagrams, styles, fonts } = await sizesOfApp()
const inKB = (bytes: number): string => `${Math.round(bytes / 1024)} KB`
const rows = [
  ...Object.entries(pages).map(([name, size]) => [`JavaScript for ${name}`, inKB(size), '200 KB']),
  [`Largest of ${parts.length} lazy-loaded parts`, inKB(parts[0]!.size), '170 KB'],
  ['All styles', inKB(styles), '20 KB'],
  ['Fonts for the first page (compressed format)', inKB(fonts.size), '60 KB'],
  ['Diagram library, in its frame', inKB(diagrams), 'none'],
]
const table = [
  '| Resource | Size (Brotli, quality 9) | Limit |',
  '|---|---|---|',
  ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  '',
  `Calculated from the build manifest on ${new Date().toISOString().slice(0, 10)}. Update with \`sh bin/run test/web/shell/sizes-in-docs.ts\`.`,
].join('\n')
writeInDocs('sizes', table)
process.stdout.write(
  `${table}\n${parts
    .slice(0, 12)
    .map(({ file, size }) => `${file} ${size}`)
    .join('\n')}\n`,
)
