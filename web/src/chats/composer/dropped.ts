import { useEffect, useRef, useState } from 'react'

const bringsFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') ?? false

/**
 * Takes files that are dropped anywhere on the page, and says whether some are held over it. What another part of the page
 * took is its own. Left to the browser, a drop beside the field would open the file in the place of the page.
 */
export function useDroppedFiles(take: (files: readonly File[]) => void): boolean {
  const [over, setOver] = useState(false)
  const now = useRef(take)
  now.current = take
  useEffect(() => {
    const hold = (event: DragEvent): void => {
      if (event.defaultPrevented || !bringsFiles(event)) return
      event.preventDefault()
      setOver(true)
    }
    const leave = ({ relatedTarget }: DragEvent): void => {
      // Only who leaves the window comes from no element to none.
      if (relatedTarget === null) setOver(false)
    }
    const drop = (event: DragEvent): void => {
      setOver(false)
      if (event.defaultPrevented || !bringsFiles(event)) return
      event.preventDefault()
      now.current([...event.dataTransfer!.files])
    }
    addEventListener('dragover', hold)
    addEventListener('dragleave', leave)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('dragover', hold)
      removeEventListener('dragleave', leave)
      removeEventListener('drop', drop)
    }
  }, [])
  return over
}
