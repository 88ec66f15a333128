# A holder repairs an emptied node below what that had offered in vain
# Alone, n2 grants again and again, to attempts that never complete: its counter
# passes that of n1 and n3, within one step of the clock floor.
nodes 3
processes 1
seed 4007
regime amnesia-quarantined
max_ttl 2.06s
node_timeout 486ms
delay 200us
jitter 0s
calm 9.1s
turn p1 name c think 5.09s ttl 558ms
turn p1 name b think 1.23s ttl 1.544s hold 1ms extends 1
at 4.62s empty n3 for 1ms
at 5.85s replica n1 by 5.25ms for 0s
at 15.1s empty n2 for 0s
