import { useEffect, useRef } from 'react'
import { visible } from '../text/visible.ts'
import { isTooDeep } from './maths.ts'

/** A formula as MathML. Shows the TeX source until the renderer is loaded, and for invalid formulas. */
export function Formula({ tex, display }: { tex: string; display: boolean }) {
  const place = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    if (isTooDeep(tex)) return
    let isUnmounted = false
    void import('temml').then(
      ({ default: temml }) => {
        if (isUnmounted || place.current === null) return
        const element = document.createElement('span')
        try {
          // No links or external resources, and nothing larger than a page.
          temml.render(tex, element, {
            displayMode: display,
            throwOnError: true,
            trust: false,
            maxSize: [20, 50],
            maxExpand: 200,
          })
        } catch {
          return
        }
        place.current.replaceChildren(...element.childNodes)
      },
      () => {},
    )
    return () => {
      isUnmounted = true
    }
  }, [tex, display])
  return (
    <span ref={place} className={display ? 'block overflow-x-auto py-1 text-center' : ''}>
      {visible(tex)}
    </span>
  )
}
