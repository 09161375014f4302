import type { Place } from './queries.ts'
import { UploadButton } from './uploads/upload-button.tsx'

/** An empty folder: what to do with it. */
export function Nothing({ place, name, mayWrite }: { place: Place; name: string; mayWrite: boolean }) {
  return (
    <div className="flex flex-1 items-center justify-center p-6">
      <div className="max-w-md border border-dashed border-keyline px-8 py-10 text-center">
        <h2 className="font-serif text-lg">Nothing in here yet</h2>
        {mayWrite ? (
          <>
            <p className="mt-1 mb-4 text-quiet">Drop files or folders anywhere on this page, or choose them.</p>
            <UploadButton place={place} name={name} />
          </>
        ) : (
          <p className="mt-1 text-quiet">You may read this folder. What its people put in shows up here.</p>
        )}
      </div>
    </div>
  )
}
