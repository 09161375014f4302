import type { Token, Tokens } from 'marked'
import type { ReactNode } from 'react'
import { visible } from '../text/visible.ts'
import { Formula } from './formula.tsx'
import { isMisleading, targetOf } from './links.ts'
import type { Maths } from './maths.ts'
import { decode } from './plain.ts'

const DEEPEST = 32

export function Inline({ tokens, depth = 0 }: { tokens: readonly Token[] | undefined; depth?: number }): ReactNode {
  return tokens?.map((token, at) => <Piece key={at} token={token} depth={depth} />)
}

function Piece({ token, depth }: { token: Token; depth: number }): ReactNode {
  if (depth > DEEPEST) return token.raw
  const inside = (of: readonly Token[] | undefined) => <Inline tokens={of} depth={depth + 1} />
  switch (token.type) {
    case 'strong':
      return <strong>{inside((token as Tokens.Strong).tokens)}</strong>
    case 'em':
      return <em>{inside((token as Tokens.Em).tokens)}</em>
    case 'del':
      return <del>{inside((token as Tokens.Del).tokens)}</del>
    case 'codespan':
      return <code>{visible((token as Tokens.Codespan).text)}</code>
    case 'maths-inline': {
      const { tex, display } = token as Maths
      return <Formula key={tex} tex={tex} display={display} />
    }
    case 'br':
      return <br />
    case 'link':
      return <LinkTo token={token as Tokens.Link}>{inside((token as Tokens.Link).tokens)}</LinkTo>
    case 'image':
      return <Picture token={token as Tokens.Image} />
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return tokens ? inside(tokens) : decode(text)
    }
    case 'escape':
      return (token as Tokens.Escape).text
    default:
      return token.raw
  }
}

function LinkTo({ token: { href, text, raw }, children }: { token: Tokens.Link; children: ReactNode }) {
  const target = targetOf(decode(href))
  if (target === null) return visible(raw)
  return (
    <>
      <a
        className="link"
        href={target.href}
        rel="noopener noreferrer nofollow"
        referrerPolicy="no-referrer"
        {...(target.host !== null && { target: '_blank' })}
      >
        {children}
      </a>
      {isMisleading(text, target.host) && <span className="text-quiet"> ({target.host})</span>}
    </>
  )
}

/**
 * An image. External images are never loaded: that would tell the server at the URL about the reader, and could leak
 * data in the URL.
 */
function Picture({ token: { href, text } }: { token: Tokens.Image }) {
  const target = targetOf(decode(href))
  if (target === null) return <span className="text-quiet">[image: {text || 'untitled'}]</span>
  if (target.host === null && target.href.startsWith('/v1/drive/files/'))
    return <img src={target.href} alt={text} loading="lazy" className="max-h-96 max-w-full border border-line" />
  return (
    <span className="inline-flex max-w-full flex-wrap items-baseline gap-x-2 border border-line bg-sunk px-2 py-0.5 text-sm">
      <span>Image{text && `: ${text}`}</span>
      <a
        className="link break-all"
        href={target.href}
        target="_blank"
        rel="noopener noreferrer nofollow"
        referrerPolicy="no-referrer"
      >
        {target.href}
      </a>
    </span>
  )
}
