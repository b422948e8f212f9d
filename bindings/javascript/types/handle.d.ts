/// <reference lib="esnext.disposable" preserve="true" />
/**
 * An object of the library. It is freed some time after nobody refers to it any more; `free`, or `using`, does it at once, which
 * keeps the memory small where many are made. No object needs another to stay alive.
 */
export declare class Handle {
    #private;
    /** Frees the object. It is of no use afterwards; freeing it again does nothing. */
    free(): void;
    /** As `free`, for `using`. A platform without `Symbol.dispose` has no `using` either. */
    [Symbol.dispose](): void;
}
