import { type ReactNode, memo, useState } from 'react'
import { CodeBlock } from '../code/code-block.tsx'
import { useHeadingLevel } from '../page.tsx'
import { Formula } from './formula.tsx'
import { headingLevels } from './heading-levels.ts'
import { Inline } from './inline.tsx'
import { type Block, type Tokens, growingLexer } from './lex.ts'
import type { Maths } from './maths.ts'

/** Deeper lists and quotes are shown as written. */
const DEEPEST = 32
const MAX_COLUMNS = 40
const MAX_ROWS = 500

/** Renders Markdown with the app's own elements; HTML is shown as text. `growing`: the text is still streaming. */
export function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const [read] = useState(growingLexer)
  const blocks = read(text)
  const levels = headingLevels(blocks, useHeadingLevel())
  return (
    <div className="prose">
      {blocks.map((block, at) => (
        <BlockView key={at} block={block} depth={0} level={levels[at]!} growing={growing && at === blocks.length - 1} />
      ))}
    </div>
  )
}

interface BlockProps {
  block: Block
  depth: number
  /** The level of this heading, or of the first heading in this block. */
  level: number
  growing: boolean
}

const BlockView = memo(
  drawBlock,
  (a, b) =>
    a.block.raw === b.block.raw && a.block.type === b.block.type && a.level === b.level && a.growing === b.growing,
)

function drawBlock({ block, depth, level, growing }: BlockProps): ReactNode {
  if (depth > DEEPEST) return <p className="whitespace-pre-wrap">{block.raw}</p>
  switch (block.type) {
    case 'space':
    case 'def':
      return null
    case 'hr':
      return <hr />
    case 'heading':
      return <Heading block={block as Tokens.Heading} level={level} />
    case 'code': {
      const { text, lang } = block as Tokens.Code
      return <CodeBlock text={text} language={lang?.split(/\s/)[0] ?? ''} growing={growing} />
    }
    case 'blockquote':
      return (
        <blockquote>
          <Blocks blocks={(block as Tokens.Blockquote).tokens} depth={depth} level={level} growing={growing} />
        </blockquote>
      )
    case 'list':
      return <List block={block as Tokens.List} depth={depth} level={level} growing={growing} />
    case 'table':
      return <Table block={block as Tokens.Table} />
    case 'maths': {
      const { tex } = block as Maths
      return <Formula key={tex} tex={tex} display />
    }
    case 'paragraph':
      return (
        <p>
          <Inline tokens={(block as Tokens.Paragraph).tokens} />
        </p>
      )
    case 'text': {
      const { tokens, text } = block as Tokens.Text
      return tokens ? <Inline tokens={tokens} /> : text
    }
    default:
      // HTML and unknown token types are never interpreted.
      return <p className="whitespace-pre-wrap">{block.raw.trimEnd()}</p>
  }
}

function Blocks({
  blocks,
  depth,
  level,
  growing,
}: Omit<BlockProps, 'block'> & { blocks: readonly Block[] }): ReactNode {
  const levels = headingLevels(blocks, level)
  return blocks.map((block, at) => (
    <BlockView key={at} block={block} depth={depth + 1} level={levels[at]!} growing={growing} />
  ))
}

function Heading({ block: { depth, tokens }, level }: { block: Tokens.Heading; level: number }) {
  const Level = `h${level as 2 | 3 | 4 | 5 | 6}` as const
  return (
    <Level className={depth === 1 ? 'text-[1.25rem]' : depth === 2 ? 'text-[1.125rem]' : 'text-base'}>
      <Inline tokens={tokens} />
    </Level>
  )
}

function List({ block: { ordered, start, items }, depth, level, growing }: BlockProps & { block: Tokens.List }) {
  const rows = items.map(({ task, checked, tokens }, at) => (
    <li key={at} className={task ? 'list-none' : ''}>
      {task && (
        <input type="checkbox" checked={checked === true} readOnly disabled aria-label={checked ? 'done' : 'open'} />
      )}
      <Blocks blocks={tokens.filter(({ type }) => type !== 'checkbox')} depth={depth} level={level} growing={growing} />
    </li>
  ))
  if (!ordered) return <ul>{rows}</ul>
  return <ol start={start === '' ? 1 : start}>{rows}</ol>
}

function Table({ block: { header, align, rows } }: { block: Tokens.Table }) {
  const aligned = (at: number) =>
    ({ left: 'text-left', center: 'text-center', right: 'text-right' })[align[at] ?? 'left']
  return (
    <div className="table" role="region" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.slice(0, MAX_COLUMNS).map(({ tokens }, at) => (
              <th key={at} scope="col" className={aligned(at)}>
                <Inline tokens={tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MAX_ROWS).map((cells, at) => (
            <tr key={at}>
              {cells.slice(0, MAX_COLUMNS).map(({ tokens }, column) => (
                <td key={column} className={aligned(column)}>
                  <Inline tokens={tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
