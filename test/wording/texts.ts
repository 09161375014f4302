/** Texts that people read, extracted from sources and documents by kind. */
import { readFileSync } from 'node:fs'

export interface Text {
  file: string
  text: string
}

interface Kind {
  /** Hits per 1,000 words. */
  limit: number
  includes(file: string): boolean
  /** Each match’s first group is a text. */
  texts: readonly RegExp[]
}

const isSource = (file: string): boolean =>
  /\.tsx?$/.test(file) && !/\.(?:long|test)\.tsx?$|fixtures|generated/.test(file)
const isTest = (file: string): boolean => /\.(?:long|test)\.tsx?$/.test(file)

export const kinds: Readonly<Record<string, Kind>> = {
  app: {
    limit: 1.5,
    includes: (file) => file.startsWith('web/src/') && isSource(file),
    texts: [
      />\s*([A-Z][^<>{}]{8,300})</g,
      /(?:description|empty|heading|hint|label|message|note|placeholder|text|title)[=:]\s*\{?["'`]([A-Z][^"`]{8,300}?)["'`]/g,
    ],
  },
  api: {
    limit: 1.5,
    includes: (file) => file.startsWith('src/') && isSource(file),
    texts: [/(?:description|meaning|message|summary|title)[:=]\s*['`]([A-Z][^'`]{8,400})['`]/g],
  },
  docs: {
    limit: 1.5,
    includes: (file) => /^(?:CHANGELOG|CONTRIBUTING|README)\.md$|^docs\/.*\.md$/.test(file),
    texts: [/([^]+)/g],
  },
  comments: {
    limit: 2,
    includes: (file) => /^(?:bench|packages|src|tools|web)\//.test(file) && isSource(file),
    texts: [/^\s*(?:\/\*\*|\*|\/\/)\s+(.*)$/gm],
  },
  'test titles': { limit: 2, includes: isTest, texts: [/\b(?:describe|it|test)\(\s*['`]([^'`]{10,300})['`]/g] },
}

export function textsOf({ includes, texts }: Kind, files: readonly string[]): Text[] {
  return files.filter(includes).flatMap((file) => {
    const content = readFileSync(file, 'utf8')
    const prose = file.endsWith('.md') ? withoutCode(content) : content
    return texts.flatMap((pattern) => Array.from(prose.matchAll(pattern), ([, text]) => ({ file, text: text! })))
  })
}

const withoutCode = (markdown: string): string =>
  markdown
    .replace(/```[^]*?```/g, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/`[^`]*`/g, 'X')
    .replace(/\]\([^)]*\)/g, ']')
