/** Adds up what the pages of the app load and writes it into docs/app.md: `sh bin/run test/web/shell/sizes-in-docs.ts`. */
import { writeInDocs } from '../in-docs.ts'
import { sizesOfApp } from './sizes.ts'

const { pages, parts, diagrams, styles, fonts } = await sizesOfApp()
const inKB = (bytes: number): string => `${Math.round(bytes / 1024)} KB`
const rows = [
  ...Object.entries(pages).map(([name, size]) => [`JavaScript before ${name} stands`, inKB(size), '200 KB']),
  [`the largest of ${parts.length} parts that are loaded when they are needed`, inKB(parts[0]!.size), '170 KB'],
  ['all styles', inKB(styles), '20 KB'],
  ['fonts before the first page stands, packed as they are', inKB(fonts.size), '60 KB'],
  ['the library of diagrams, in its frame', inKB(diagrams), 'none'],
]
const table = [
  '| what is loaded | by brotli (quality 9) | at most |',
  '|---|---|---|',
  ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  '',
  `Added up over the build's manifest on ${new Date().toISOString().slice(0, 10)}; written by \`sh bin/run test/web/shell/sizes-in-docs.ts\`.`,
].join('\n')
writeInDocs('sizes', table)
process.stdout.write(
  `${table}\n${parts
    .slice(0, 12)
    .map(({ file, size }) => `${file} ${size}`)
    .join('\n')}\n`,
)
