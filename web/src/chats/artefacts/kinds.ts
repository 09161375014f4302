import type { Code } from '../../ui/code/code-block.tsx'

/** The kinds of artifacts; the first three run in a sandboxed frame. */
export type Kind = 'html' | 'svg' | 'diagram' | 'markdown' | 'table' | 'code'

export interface Artefact extends Code {
  kind: Kind
}

/** Code with fewer lines stays inline in the chat. */
const LONG_CODE = 15

export function kindOf({ text, language }: Code): Kind | null {
  const word = language.toLowerCase()
  const begin = text.slice(0, 500).trimStart().toLowerCase()
  if (/^html?$/.test(word) || (word === '' && /^<(?:!doctype html|html)\b/.test(begin))) return 'html'
  if (word === 'svg' || ((word === 'xml' || word === '') && begin.startsWith('<svg'))) return 'svg'
  if (word === 'mermaid' || word === 'mmd') return 'diagram'
  if (word === 'md' || word === 'markdown') return 'markdown'
  if (word === 'csv' || word === 'tsv') return 'table'
  return text.split('\n', LONG_CODE + 1).length > LONG_CODE ? 'code' : null
}

export const verbs: Record<Kind, string> = {
  html: 'Run',
  svg: 'Show',
  diagram: 'Draw',
  markdown: 'Open',
  table: 'Open',
  code: 'Open',
}

export const fileNameOf = ({ kind, language }: Artefact): string => {
  const end = {
    html: 'html',
    svg: 'svg',
    diagram: 'mmd',
    markdown: 'md',
    table: language || 'csv',
    code: language || 'txt',
  }[kind]
  return `artefact.${/^[\w-]{1,12}$/.test(end) ? end : 'txt'}`
}

export const pageOf = ({ kind, text }: Artefact): string =>
  kind === 'svg'
    ? `<!doctype html><meta charset="utf-8"><style>html,body{height:100%;margin:0}body{display:grid;place-items:center}svg{max-width:100%;max-height:100%}</style>${text}`
    : text
