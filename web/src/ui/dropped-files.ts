import { useEffect, useRef, useState } from 'react'
import { say } from './toast/toast.tsx'

/** A part of the page that takes files dropped anywhere on it. The last one added gets them. */
interface Taker {
  take: (files: readonly File[]) => void
  over: (over: boolean) => void
}
const takers: Taker[] = []

const brings = (event: DragEvent, type: string): boolean => event.dataTransfer?.types.includes(type) ?? false
const isEditable = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea'))
const takesItself = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement && target.type === 'file'

/** Frames let pointer events through while files are dragged: a drop on a frame would leave the app too. */
function held(over: boolean): void {
  document.documentElement.toggleAttribute('data-files-over', over)
  takers.at(-1)?.over(over)
}

function hold(event: DragEvent): void {
  if (event.defaultPrevented || takesItself(event.target)) return
  if (brings(event, 'Files')) {
    event.preventDefault()
    held(true)
  } else if (brings(event, 'text/uri-list') && !isEditable(event.target)) {
    event.preventDefault()
    event.dataTransfer!.dropEffect = 'none'
  }
}

function leave({ relatedTarget }: DragEvent): void {
  // `relatedTarget` is null only when the drag leaves the window.
  if (relatedTarget === null) held(false)
}

function drop(event: DragEvent): void {
  held(false)
  if (event.defaultPrevented || takesItself(event.target)) return
  if (brings(event, 'Files')) {
    event.preventDefault()
    const taker = takers.at(-1)
    if (taker) taker.take([...event.dataTransfer!.files])
    else say('Files can’t be dropped here. Drop them on a chat or a folder.')
  } else if (brings(event, 'text/uri-list') && !isEditable(event.target)) event.preventDefault()
}

/**
 * Keeps drops inside the app: by default, browsers open a dropped file or link in place of the page. Parts of the page that
 * handle a drop themselves come first.
 */
export function keepDrops(): void {
  addEventListener('dragover', hold)
  addEventListener('dragleave', leave)
  // Parts that handle a drop stop it before it reaches the window.
  addEventListener('drop', () => document.documentElement.toggleAttribute('data-files-over', false), true)
  addEventListener('drop', drop)
}

/** Takes files dropped anywhere on the page, unless another part takes them. Returns whether files are being dragged over it. */
export function useDroppedFiles(take: (files: readonly File[]) => void): boolean {
  const [over, setOver] = useState(false)
  const now = useRef(take)
  now.current = take
  useEffect(() => {
    const taker: Taker = { take: (files) => now.current(files), over: setOver }
    takers.push(taker)
    return () => void takers.splice(takers.indexOf(taker), 1)
  }, [])
  return over
}
