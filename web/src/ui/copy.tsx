import { useEffect, useState } from 'react'
import { buttonClass } from './button.tsx'
import { Icon } from './icons.tsx'

export function Copy({
  text,
  label = 'Copy',
  look = 'plain',
}: {
  text: string
  label?: string
  look?: 'plain' | 'primary' | 'quiet'
}) {
  const [state, set] = useState<'idle' | 'done' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => set('idle'), 2_500)
    return () => clearTimeout(timer)
  }, [state])
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      set('done')
    } catch {
      // Over plain HTTP from another machine, browsers offer no clipboard access.
      set('failed')
    }
  }
  const words = { idle: label, done: 'Copied', failed: 'Select and copy' }[state]
  return (
    <button type="button" onClick={() => void copy()} className={`${buttonClass(look)} min-w-24`}>
      <Icon name={state === 'done' ? 'check' : 'copy'} />
      <span aria-live="polite">{words}</span>
    </button>
  )
}
