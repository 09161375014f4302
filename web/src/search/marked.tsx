import type { Piece } from '../shared/search/hit.ts'

export const Marked = ({ pieces }: { pieces: readonly Piece[] }) =>
  pieces.map(({ text, found }, at) =>
    found ? (
      <mark key={at} className="bg-ochre/25 text-ink">
        {text}
      </mark>
    ) : (
      text
    ),
  )
