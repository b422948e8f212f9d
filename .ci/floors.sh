# What share of the recorded reference behaviour must be matched, in percent. Raise a floor with the change that reaches it;
# never lower one.

# check.py over all templates.
FLOORS=()

# check.py over the templates whose format is learnt.
LEARNT_FLOORS=()

# roundtrip.py.
ROUNDTRIP_FLOOR=0
