import { visible } from '../../../ui/text/visible.ts'

/** Collapsed reasoning; while streaming, its latest words are shown. */
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
