import type { KeyboardEvent } from 'react'

/** Enter sends and Escape stops the response. `stop`: null if nothing can be stopped. */
export function hearMessageKeys(event: KeyboardEvent, send: () => void, stop: (() => void) | null): void {
  // During IME composition, Enter confirms a candidate.
  if (event.nativeEvent.isComposing) return
  if (event.key === 'Enter' && !event.shiftKey) {
    event.preventDefault()
    send()
  } else if (event.key === 'Escape' && stop) {
    event.preventDefault()
    stop()
  }
}
