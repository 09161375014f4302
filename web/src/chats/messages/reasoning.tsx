import { visible } from '../../ui/text/visible.ts'

/** The reasoning, folded to one line; while it is being thought, its newest words are shown. */
export function Reasoning({ title = 'Reasoning', text, open }: { title?: string; text: string; open: boolean }) {
  if (text === '') return null
  return (
    <details className="text-sm" open={open}>
      <summary className="w-fit text-quiet hover:text-ink">{title}</summary>
      <p className="mt-1 max-h-80 overflow-auto border-l-2 border-line pl-3 break-words whitespace-pre-wrap text-quiet">
        {visible(text)}
      </p>
    </details>
  )
}
