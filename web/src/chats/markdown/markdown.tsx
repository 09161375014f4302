import { type ReactNode, memo, useState } from 'react'
import { CodeBlock } from './code.tsx'
import { Inline } from './inline.tsx'
import { type Block, type Tokens, growingLexer } from './lex.ts'

/** Deeper lists and quotes are shown as the text that they are. */
const DEEPEST = 32
const MOST_COLUMNS = 40
const MOST_ROWS = 500

/** A text as its Markdown says, in elements of ours: HTML in it is text. */
export function Markdown({ text }: { text: string }) {
  const [read] = useState(growingLexer)
  return (
    <div className="prose">
      {read(text).map((block, at) => (
        <BlockView key={at} block={block} depth={0} />
      ))}
    </div>
  )
}

const BlockView = memo(drawBlock, (a, b) => a.block.raw === b.block.raw && a.block.type === b.block.type)

function drawBlock({ block, depth }: { block: Block; depth: number }): ReactNode {
  if (depth > DEEPEST) return <p className="whitespace-pre-wrap">{block.raw}</p>
  switch (block.type) {
    case 'space':
    case 'def':
      return null
    case 'hr':
      return <hr />
    case 'heading':
      return <Heading block={block as Tokens.Heading} />
    case 'code': {
      const { text, lang } = block as Tokens.Code
      return <CodeBlock text={text} language={lang?.split(/\s/)[0] ?? ''} />
    }
    case 'blockquote':
      return (
        <blockquote>
          <Blocks blocks={(block as Tokens.Blockquote).tokens} depth={depth} />
        </blockquote>
      )
    case 'list':
      return <List block={block as Tokens.List} depth={depth} />
    case 'table':
      return <Table block={block as Tokens.Table} />
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
      // HTML, and what a later version of the lexer may know: never interpreted.
      return <p className="whitespace-pre-wrap">{block.raw.trimEnd()}</p>
  }
}

const Blocks = ({ blocks, depth }: { blocks: readonly Block[]; depth: number }): ReactNode =>
  blocks.map((block, at) => <BlockView key={at} block={block} depth={depth + 1} />)

function Heading({ block: { depth, tokens } }: { block: Tokens.Heading }) {
  // Under the page's own, and under the name of who speaks.
  const Level = depth === 1 ? 'h3' : depth === 2 ? 'h4' : depth === 3 ? 'h5' : 'h6'
  return (
    <Level className={depth === 1 ? 'text-[1.25rem]' : depth === 2 ? 'text-[1.125rem]' : 'text-base'}>
      <Inline tokens={tokens} />
    </Level>
  )
}

function List({ block: { ordered, start, items }, depth }: { block: Tokens.List; depth: number }) {
  const rows = items.map(({ task, checked, tokens }, at) => (
    <li key={at} className={task ? 'list-none' : ''}>
      {task && (
        <input type="checkbox" checked={checked === true} readOnly disabled aria-label={checked ? 'done' : 'open'} />
      )}
      <Blocks blocks={tokens.filter(({ type }) => type !== 'checkbox')} depth={depth} />
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
            {header.slice(0, MOST_COLUMNS).map(({ tokens }, at) => (
              <th key={at} scope="col" className={aligned(at)}>
                <Inline tokens={tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map((cells, at) => (
            <tr key={at}>
              {cells.slice(0, MOST_COLUMNS).map(({ tokens }, column) => (
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
